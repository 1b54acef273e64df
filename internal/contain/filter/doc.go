// Package filter makes seccomp filters: which system calls a run may make, and
// what the others return. A filter is a value, a BPF program; package contain
// installs it.
//
// A filter is an allowlist. Its base is what the default profile of the Moby
// project allows a process without capabilities; taken away from that is what a
// build or a test never needs (rules.go names each with its reason). Every call
// gets one of three answers:
//
//   - allowed, sometimes only with certain arguments;
//   - denied: the call fails with [Denied], or is handed to whoever listens, so
//     that it can be counted and explained ([Explain]);
//   - absent: the call fails with ENOSYS as on a kernel that lacks it, because
//     programs are written to do without. That holds for what the profile
//     doesn't know, for other ABIs (32 bit, x32) and for what is left out
//     without being suspicious.
//
// table.go is generated from the profile and from the kernel's numbers; see
// table_test.go.
//
// # Limits
//
// A filter sees numbers and the words of arguments, never what a pointer points
// to: no paths, no addresses, no file contents. Those are held by Landlock and
// by namespaces. It can't tell one's own child from another's, so what is denied
// for others is denied for oneself too (ptrace). A program may stack a filter of
// its own that answers first: what is denied stays denied, but isn't counted
// then. Whoever listens must answer with [Denied] and never let the kernel
// continue the call, whose arguments may have changed meanwhile. Programs have
// no filters on other systems than Linux, so there the package is empty.
package filter
