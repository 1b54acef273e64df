package handover

import (
	"encoding/json"
	"fmt"
	"os"

	"paddock"
)

// JobVersion is the version of Job and of what its descriptors mean.
const JobVersion = 10

// A Job is one run as its supervisor is told of it, while it is still being written
// down: what is to hold the run can be made ready meanwhile. Nothing is at RunDir yet,
// and the program may start only when the [Word] is there, which is the second message.
//
// With the job come descriptors, in this order: the lock of the run's directory, the
// directory the program starts in, the file that is executed, with HasSecrets the sealed memory of package credential for the proxy, with HasKnown
// that for the supervisor, with HasSink where standard output goes, which isn't kept
// then, with HasDoor the socket that the program gets, and a file for each of Copies.
type Job struct {
	Version int           `json:"version"`
	RunDir  string        `json:"run_dir"`
	RunID   paddock.RunID `json:"run_id"`
	Argv    []string      `json:"argv"`
	Env     []string      `json:"env"`
	// Path of the executable, for messages; what runs is the descriptor.
	Path      string `json:"path"`
	OpenFiles int    `json:"open_files,omitempty"`
	// Limits has what the whole tree is held to: memory, processes and CPUs. The
	// others are said by the fields below.
	Limits paddock.Limits `json:"limits,omitzero"`
	// Contain says what the run is held to; Dir is where it starts, by its path,
	// Root the workspace and Home the private home directory around it. Programs
	// are the files that are executed or read to execute it, Path first.
	Contain  paddock.ContainAs `json:"containment"`
	Dir      string            `json:"dir"`
	Root     string            `json:"root"`
	Home     string            `json:"home,omitempty"`
	Programs []string          `json:"programs"`
	// Listed is what may be executed beside Programs where Contain.Exec says so.
	Listed []string `json:"listed,omitempty"`
	// Held is set when a lease keeps the bytes of the file that is executed. Copies
	// are the paths at which the run sees, in the place of what is there, files that
	// nobody can change; only at level full.
	Held   bool     `json:"held,omitempty"`
	Copies []string `json:"copies,omitempty"`
	// Timeout and OutputCap must be positive. Grace zero means the supervisor's own.
	Timeout   paddock.Duration `json:"timeout_ms"`
	OutputCap int64            `json:"output_cap"`
	Grace     paddock.Duration `json:"grace_ms,omitempty"`
	// Reserve is what output leaves free of the disk; zero means nothing.
	Reserve int64 `json:"reserve,omitempty"`
	// Tied runs end when the connection that handed over the job is closed.
	Tied bool `json:"tied,omitempty"`
	// Isolation lists means to try in order; empty means all that can work.
	Isolation   []paddock.Isolation `json:"isolation,omitempty"`
	LeaveCgroup bool                `json:"leave_cgroup,omitempty"`
	// Terminal is of which size a terminal the program gets; nil is none.
	Terminal   *paddock.TerminalSize `json:"terminal,omitempty"`
	HasSecrets bool                  `json:"has_secrets,omitempty"`
	HasKnown   bool                  `json:"has_known,omitempty"`
	HasSink    bool                  `json:"has_sink,omitempty"`
	HasDoor    bool                  `json:"has_door,omitempty"`
	// Redact says when what the supervisor knows of secrets is hidden in output.
	Redact      paddock.Redaction `json:"redact,omitempty"`
	StageDigest paddock.Digest    `json:"stage_digest,omitempty"`
	// Journal is the directory of the journal that gets the run's end; empty
	// means that somebody else tells it.
	Journal string `json:"journal,omitempty"`
	// Word is what was heard since; see [Job.Hear].
	Word `json:"-"`
}

// A Word is the second message: that the run is written down, durably, and may start,
// with what is known by then only. Without Written it is none. With it comes, where
// HasStdin says so, what to feed, a regular file. A connection that ends in its place
// says that there is no such run: what was made ready for it is to be taken away.
type Word struct {
	Written bool `json:"written"`
	// Room is how many bytes of both streams are kept at most, by the quota RoomBy;
	// zero is no less than their caps.
	Room   int64  `json:"room,omitempty"`
	RoomBy string `json:"room_by,omitempty"`
	// Lease is until when the run may go on unless it is renewed, by the machine's boot
	// clock, in nanoseconds; zero means that nobody has a lease of it.
	Lease    int64 `json:"lease,omitempty"`
	HasStdin bool  `json:"has_stdin,omitempty"`
	// Follows says that who sent the word is to be told events by this connection.
	Follows bool `json:"follows,omitempty"`
}

// Hear takes the word, as text, and what came with it.
func (j *Job) Hear(f *Files, text []byte, files []*os.File) error {
	var w Word
	if err := json.Unmarshal(text, &w); err != nil {
		return fmt.Errorf("the word that the run is written down: %w", err)
	}
	want := 0
	if w.HasStdin {
		want = 1
	}
	if len(files) != want {
		return fmt.Errorf("%d descriptors came with the word that the run is written down, want %d", len(files), want)
	}
	if w.HasStdin {
		f.Stdin = files[0]
	}
	j.Word = w
	return j.Heard()
}

// Files are the descriptors of a Job, in the order in which they are sent.
type Files struct {
	// Lock is the locked descriptor of the run's directory.
	Lock *os.File
	// Dir is where the program starts, Exec what is executed.
	Dir, Exec *os.File
	// Stdin is what to feed, a regular file, which comes with the word; nil without HasStdin.
	Stdin *os.File
	// Secrets is for the run's proxy; nil without Job.HasSecrets.
	Secrets *os.File
	// Known is for the supervisor; nil without Job.HasKnown.
	Known *os.File
	// Sink takes standard output; nil without Job.HasSink.
	Sink *os.File
	// Door is what the program has at descriptor contain.Door; nil without Job.HasDoor.
	Door *os.File
	// Copies are those of Job.Copies.
	Copies []*os.File
}

// FilesOf names the descriptors that came with job.
func FilesOf(job Job, files []*os.File) (Files, error) {
	var f Files
	places := []**os.File{&f.Lock, &f.Dir, &f.Exec}
	if job.HasSecrets {
		places = append(places, &f.Secrets)
	}
	if job.HasKnown {
		places = append(places, &f.Known)
	}
	if job.HasSink {
		places = append(places, &f.Sink)
	}
	if job.HasDoor {
		places = append(places, &f.Door)
	}
	if want := len(places) + len(job.Copies); len(files) != want {
		return Files{}, fmt.Errorf("%d descriptors came with the job, want %d", len(files), want)
	}
	for i, place := range places {
		*place = files[i]
	}
	f.Copies = files[len(places):]
	return f, nil
}
