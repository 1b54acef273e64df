// Package splice moves what is in a pipe into a file without fetching it: the
// kernel copies it once, where reading and writing copy it twice.
//
// # Limits
//
// It works on Linux, and from pipes. Not every file system takes part, and no file
// that is opened for appending does; whoever calls must be able to read and write
// instead. What was moved has been seen by nobody: digests and the like have to
// be made of the file.
package splice
