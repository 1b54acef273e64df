package quarantine

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/workspace/apply/tree"
	"paddock/internal/workspace/apply/tree/quarantine/look"
)

// take moves what appeared out of the root, and says of each item what became of it.
func (w *Watch) take(seen *look.Seen, items []item) error {
	taken := items[:0:0]
	var place []int // of those that are to be taken, in items
	for i := range items {
		switch {
		case items[i].Change == paddock.FoundChanged:
			items[i].Why = "it was there before, and nobody has it as it was"
		case items[i].Change == paddock.FoundUnknown:
			items[i].Why = "nobody looked there before the run"
		case w.opt.Report:
			items[i].Why = "the policy has it reported"
		case len(taken) == mostTaken:
			items[i].Why = "too much appeared"
		default:
			taken, place = append(taken, items[i]), append(place, i)
		}
	}
	described := 0
	for i := range items {
		if items[i].Why != "" && described < mostListed {
			described++
			w.describe(&items[i])
		}
	}
	if len(taken) == 0 {
		return nil
	}
	err := os.Mkdir(Dir(w.opt.RunDir), 0o700)
	if err == nil {
		err = w.write(taken)
	}
	if err == nil {
		failpoint.Here("deeper/listed")
		err = w.resume(seen, taken)
	}
	for i, at := range place {
		items[at] = taken[i]
		if err != nil && !taken[i].Quarantined && taken[i].Why == "" {
			items[at].Why = err.Error()
		}
	}
	return err
}

// describe adds to an item that stays what it is now.
func (w *Watch) describe(i *item) {
	parent, err := w.root.Sub(path.Dir(i.path()))
	if err != nil {
		return
	}
	w.fill(i, parent, path.Base(i.path()))
	_ = parent.Close() // read only
}

// write writes the list down, durably and all at once.
func (w *Watch) write(items []item) error {
	l := w.self
	l.Items = items
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	name := filepath.Join(Dir(w.opt.RunDir), listName)
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// resume moves what of the listed items is still where it was seen, and as it was.
func (w *Watch) resume(seen *look.Seen, items []item) error {
	to, err := tree.Open(Dir(w.opt.RunDir))
	if err != nil {
		return err
	}
	for i := range items {
		if err := w.move(seen, &items[i], to, file(i)); err != nil {
			items[i].Why = "it can't be moved: " + err.Error()
		} else {
			items[i].Quarantined, items[i].Why = true, ""
			w.fill(&items[i], to, file(i))
		}
		failpoint.Here("deeper/moved")
	}
	return errors.Join(w.write(items), to.Close())
}

func (w *Watch) move(seen *look.Seen, i *item, to *tree.Root, name string) error {
	if _, err := to.Stat(name); err == nil {
		return nil // before a crash
	}
	now, err := w.root.Stat(i.path())
	if err != nil {
		return err
	}
	if now.Ino != i.Ino || now.Ctime != i.Ctime {
		return errors.New("it changed since it was found")
	}
	for _, inside := range []string{"", i.path(), i.path() + "/x"} {
		if inside != "" { // a directory that its owner may not write to, or the thing itself
			if openErr := seen.Open(w.root, inside); openErr != nil {
				return err
			}
		}
		var from *tree.Root
		if from, err = w.root.Sub(path.Dir(i.path())); err != nil {
			return err
		}
		err = errors.Join(from.Move(path.Base(i.path()), to, name, &w.room), from.Close())
		if !errors.Is(err, unix.EACCES) {
			return err
		}
	}
	return err
}

// fill adds what is known of what is at name in dir.
func (w *Watch) fill(i *item, dir *tree.Root, name string) {
	e, err := dir.Stat(name)
	if err != nil {
		return
	}
	i.Target = shown(e.Target)
	if !e.Regular() || e.Size > w.hash {
		return
	}
	f, err := dir.File(name)
	if err != nil {
		return
	}
	defer f.Close()
	w.hash -= e.Size
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, mostHashed)); err == nil {
		i.Digest = paddock.DigestOf([sha256.Size]byte(h.Sum(nil)))
	}
}

// read reads a file of ours.
func read(name string, v any) error {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(f, mostList+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	var of struct {
		Version int `json:"version"`
	}
	err = json.Unmarshal(text, &of)
	if err == nil && of.Version != version {
		err = fmt.Errorf("it has version %d", of.Version)
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("%s can't be read: %w", name, err)
	}
	return nil
}
