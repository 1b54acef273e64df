//go:build linux

// Command paddock-stage supervises one run. It is started by paddock, which
// hands it the run as a job over descriptor 3; people have no use for it. Started
// as paddock-stage egress, by such a supervisor, it is the proxy of its run.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/probe"
	"paddock/internal/control"
	"paddock/internal/control/handover"
	"paddock/internal/heap"
	"paddock/internal/supervise"
	"paddock/internal/supervise/ahead"
	"paddock/internal/supervise/outlet"
	"paddock/internal/supervise/rehearse"
)

func main() {
	heap.Begin()
	if len(os.Args) == 2 && os.Args[1] == "--protocol" {
		fmt.Printf("job %d control %d\n", handover.JobVersion, control.Protocol)
		return
	}
	role := func() error { return run("") }
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "ahead", "ground", "between", "hedge":
			role = func() error { return run(os.Args[1]) }
		case "egress":
			role = proxy
		case "probe":
			role = func() error { return attempt(os.Stdin, os.Stdout) }
		}
	}
	if err := role(); err != nil {
		fmt.Fprintln(os.Stderr, "paddock-stage: error:", err)
		os.Exit(1)
	}
}

// run supervises one run. While it waits it makes early ready of what one needs: nothing,
// the process in between of a run at full ("ahead"), its tree as well ("ground"), or the
// process in between of a run at another level ("between"), and at standard what keeps it
// from files as well ("hedge").
func run(early string) error {
	// Whatever else our starter had open is none of our business.
	if err := unix.CloseRange(4, 1<<31-1, 0); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	// A terminal that closes and a Ctrl-C in it are meant for others.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	conn, err := starter()
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the end of the process closes it, too
	rehearse.Run(func() bool { return control.HasJob(conn) })
	var forked *ahead.Process
	var places *ahead.Places
	if !control.HasJob(conn) {
		places = ahead.FindPlaces()
		defer places.Close()
	}
	if early != "" && !control.HasJob(conn) {
		fork := map[string]func() *ahead.Process{
			"ahead": func() *ahead.Process { return ahead.Fork(false) }, "ground": func() *ahead.Process { return ahead.Fork(true) }, "between": func() *ahead.Process { return ahead.ForkBetween(false) }, "hedge": func() *ahead.Process { return ahead.ForkBetween(true) },
		}[early]
		forked = fork()
	}
	job, files, err := received(conn, forked)
	if errors.Is(err, io.EOF) {
		forked.Close()
		return nil // started ahead of need, and not needed
	}
	if err != nil {
		forked.Close()
		return err
	}
	held := made(job, files, forked, places)
	text, descriptors, err := control.ReceiveJob(conn)
	if errors.Is(err, io.EOF) {
		held.Close()
		return nil // the run isn't to be, or its caller is gone
	}
	if err == nil {
		err = job.Hear(&files, text, descriptors)
	}
	if err == nil {
		err = logTo(filepath.Join(job.RunDir, "supervisor.log"))
	}
	if err != nil {
		held.Close()
		return err
	}
	return supervise.Run(ctx, job, files, conn, supervise.Options{Ahead: forked, Places: places, Ready: held})
}

// received is the job, and the files that came with it. Process looks at the machine when a
// request is there of which the job may come.
func received(conn *net.UnixConn, process *ahead.Process) (job supervise.Job, files supervise.Files, err error) {
	text, descriptors, err := control.AwaitJob(conn, process.Rouse)
	if err != nil {
		return job, files, err
	}
	if err := json.Unmarshal(text, &job); err != nil {
		return job, files, fmt.Errorf("job: %w", err)
	}
	if err := job.Check(); err != nil {
		// Of an older release the run's directory is there, and who looks into it is told.
		if filepath.IsAbs(job.RunDir) {
			err = errors.Join(err, logTo(filepath.Join(job.RunDir, "supervisor.log")))
		}
		return job, files, err
	}
	files, err = handover.FilesOf(job, descriptors)
	return job, files, err
}

// made is what is made ready for the run while it is still being written down.
func made(job supervise.Job, files supervise.Files, process *ahead.Process, places *ahead.Places) *supervise.Held {
	held := supervise.Begin(job, process)
	if supervise.Early(job) {
		held.Make(files, places, nil)
	}
	return held
}

// proxy is the way out of a run. Its supervisor alone ends it.
func proxy() error {
	if err := unix.CloseRange(4, 1<<31-1, 0); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	conn, err := starter()
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the end of the process closes it, too
	return outlet.Main(context.Background(), conn)
}

// attempt is what `paddock doctor` runs at each level: it reads what to attempt,
// and prints a line for each attempt. Whoever runs it by hand learns what holds
// a program that is started from there.
func attempt(in io.Reader, out io.Writer) error {
	var targets probe.Targets
	if err := json.NewDecoder(in).Decode(&targets); err != nil {
		return fmt.Errorf("targets: %w; you probably want: paddock doctor", err)
	}
	results, err := probe.Run(targets)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	for _, result := range results {
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
	return nil
}

func starter() (*net.UnixConn, error) {
	const usage = "paddock-stage is started by paddock, not by hand; you probably want: paddock run -- COMMAND"
	f := os.NewFile(3, "starter")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, errors.New(usage)
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New(usage), conn.Close())
	}
	return unixConn, nil
}

// logTo makes path our standard error, so that a crash of ours is written down
// beside the run it ended.
func logTo(path string) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_APPEND|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	return errors.Join(unix.Dup3(fd, 2, 0), unix.Close(fd))
}
