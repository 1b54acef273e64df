// Package kernfs reads and writes small files of the kernel's, those of /proc and of
// cgroups, in as few calls as that takes.
//
// os.ReadFile takes ten calls for one such file and os.WriteFile seven: they ask
// whether it can be waited for, how large it is and whether it can be made. A run's
// supervisor has a dozen of them on its way.
//
// # Limits
//
// What is read is small and what is written goes in one call. It waits in the
// kernel, as a file of the kernel's does for next to no time: it isn't for files on
// disks. Linux only.
package kernfs
