// Empty: a package with a file like this may declare functions without a body,
// which is how spawn_linux.go gets at the fork hooks of package syscall.
