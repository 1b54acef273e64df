// Package testproc starts the programs that tests need, so that everything else
// can be forbidden to, and sees to it that tests leave nothing behind.
//
// A test binary can play child programs itself. Its TestMain is
//
//	func TestMain(m *testing.M) {
//		testproc.Main(m, map[string]func() int{"sleepy": sleepy, "leaky": leaky})
//	}
//
// and the function is reached in three ways: [Self] runs the test binary as a
// command of this package, [Helper] says how somebody else starts it, and
// [Program] makes an executable file of that name for those who only know a
// path. A helper that no test of a full run has used fails the run, so dead
// helpers don't gather. Main also fails when goroutines, child processes or
// descriptors are left at the end.
//
// # Limits
//
// Only tests may import this package; internal/house holds them to it. It sees
// its own children, not grandchildren that another process has adopted. Leaks
// are looked for on Linux only; elsewhere nothing is found.
package testproc
