// Package kept compares what is kept of what a run was given and printed with what
// its record says of it.
//
// # Limits
//
// What isn't a regular file is passed over: who looks at the directory tells of it.
package kept

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/app/evidence/census/finding"
	"paddock/internal/artifact/packed"
	"paddock/internal/artifact/pages/moment/marks"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/prune"
)

// Look compares what is kept of a settled run with its outcome, byte for byte where
// digests is set, and calls find with what is wrong.
func Look(ctx context.Context, d *rundir.Dir, run paddock.Run, sealed rundir.Sealed, digests bool, find finding.Find) error {
	return look{ctx, digests, find}.output(d, run, sealed)
}

type look struct {
	ctx     context.Context
	digests bool
	find    finding.Find
}

func (k look) output(d *rundir.Dir, run paddock.Run, sealed rundir.Sealed) error {
	if _, pruned, err := prune.Of(d.Path()); err != nil || pruned != nil {
		return err
	}
	sums := map[paddock.Stream]paddock.StreamSummary{paddock.Stdout: run.Outcome.Stdout, paddock.Stderr: run.Outcome.Stderr}
	for _, stream := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
		sum, path := sums[stream], filepath.Join(d.Path(), string(stream))
		info, err := os.Lstat(path)
		if packedInfo, packedErr := os.Lstat(path + packed.Suffix); errors.Is(err, fs.ErrNotExist) && packedErr == nil {
			path, info, err = path+packed.Suffix, packedInfo, nil
		}
		var size int64
		if err == nil {
			if !info.Mode().IsRegular() {
				continue // told of
			}
			size, err = packed.Open(d.Path()).Size(stream)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && sum.Bytes == 0:
			continue
		case errors.Is(err, fs.ErrNotExist):
			err = k.find(finding.Output, d.ID(), path, "", "it is missing, and %d bytes were recorded", sum.Bytes)
		case err != nil:
			err = k.find(finding.Output, d.ID(), path, "", "it can't be read: %v", err)
		case size != sum.Bytes:
			err = k.find(finding.Output, d.ID(), path, "", "%d bytes are there, %d were recorded", size, sum.Bytes)
		case k.digests && sum.Digest != "":
			err = k.digest(d, stream, sum)
		}
		if err != nil {
			return err
		}
	}
	if err := packed.Open(d.Path()).VerifyLost(*run.Outcome); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if err := k.find(finding.Output, d.ID(), filepath.Join(d.Path(), "frames"), "", "%v", err); err != nil {
			return err
		}
	}
	return k.stdin(d, sealed)
}

// stdin compares what was given with what is kept of it.
func (k look) stdin(d *rundir.Dir, sealed rundir.Sealed) error {
	if in := sealed.Stdin; in != nil {
		path := filepath.Join(d.Path(), "stdin")
		if info, err := os.Lstat(path); err != nil || info.Size() != in.Bytes {
			return k.find(finding.Output, d.ID(), path, "", "standard input isn't what was given: %d bytes were", in.Bytes)
		}
		if k.digests {
			if got, err := durable.Summarize(k.ctx, path); err != nil || got.Digest != in.Digest {
				return k.find(finding.Output, d.ID(), path, "", "standard input isn't what was given: its digest is %s, recorded was %s", got.Digest, in.Digest)
			}
		}
	}
	return nil
}

func (k look) digest(d *rundir.Dir, stream paddock.Stream, sum paddock.StreamSummary) error {
	path := filepath.Join(d.Path(), string(stream))
	if err := packed.Open(d.Path()).Verify(stream, sum); err != nil {
		return k.find(finding.Output, d.ID(), path, "", "%v", err)
	}
	if fits, err := marks.Marked(d.Path(), stream); err == nil && !fits {
		return k.find(finding.Marks, d.ID(), path+".lines", finding.ByRebuild, "it isn't where the lines of %s are; readers do without", stream)
	}
	return nil
}
