// Package facts looks at the machine for one request, so that judging it can be
// a pure function and starting it needs no second look.
//
// Whatever is looked at is opened once. The descriptors stay open in [Found]:
// the directory that was judged is the directory in which the program is
// placed, and the file that was judged is the file that is executed, whatever
// happens to their paths meanwhile. A script is followed, as the kernel would
// follow it, to the binary that reads it, and that binary is what is executed.
//
// # Limits
//
// A descriptor pins a file, not its bytes. Those stay as they were hashed where
// the policy pins them (package pinned); of others only root and the user that
// runs Paddock can change them, which is why a file that anyone else may write to
// is refused. A script's interpreter opens the script by its path. Libraries and what a program loads later are not looked at. The
// paths among the arguments are looked at once and not held: they are a check
// of intent.
package facts
