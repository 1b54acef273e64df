// Package account finds out whose account a run is to have.
//
// # Limits
//
// It knows the users of /etc/passwd, and where it is built with cgo those of the
// machine's other sources. Whether that account may enter the run's directory is
// seen when it tries.
package account

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/owner"
	"paddock/internal/trust"
)

// Find returns what the policy's `run_as` stands for, nil where it says nothing,
// or why a run that is contained so can't have the account that it should get. An
// error is our own fault.
func Find(as paddock.ContainAs) (*paddock.Account, *paddock.Refusal, error) {
	euid := os.Geteuid()
	if as.RunAs == "" && (euid != 0 || as.Level == paddock.Off) {
		return nil, nil, nil
	}
	ids, err := users()
	if trust.Fault(err) {
		return nil, nil, err
	}
	if err != nil {
		return nil, refuse("Mount /proc.", "which users there are can't be found out: %v", err), nil
	}
	return find(as, euid, ids)
}

// known is what users returned last: that is written once, and a process of many threads
// can't leave its user namespace.
var known struct {
	sync.Mutex
	text string // guarded by Mutex
}

// users is which users there are.
func users() (string, error) {
	known.Lock()
	defer known.Unlock()
	if known.text != "" {
		return known.text, nil
	}
	text, err := os.ReadFile("/proc/self/uid_map")
	known.text = string(text)
	return known.text, err
}

func refuse(hint, format string, args ...any) *paddock.Refusal {
	r := paddock.Refused(paddock.ContainmentUnavailable, "The run can't have an account of its own: "+format+".", args...)
	r.Hint = hint
	return r
}

// find is Find for the effective user euid, where ids are the users there are.
func find(as paddock.ContainAs, euid int, ids string) (*paddock.Account, *paddock.Refusal, error) {
	switch {
	case as.RunAs == "" && as.Level == paddock.Full:
		if mapped(ids, owner.Reserved) && mapped(ids, owner.Reserved+owner.ReservedCount-1) {
			return nil, nil, nil
		}
		return nil, refuse("The operator names another account under `containment.run_as`, or gives Paddock an account of its own.",
			"Paddock is root only inside of a user namespace, which lacks the uid %d and those after it that runs of root get", owner.Reserved), nil
	case as.RunAs == "":
		return nil, refuse("The operator names an ordinary user, to whom the root's files belong, under `containment.run_as`, or gives Paddock an account of its own.",
			"Paddock is root, and at level %s the run would be, too", as.Level), nil
	case euid != 0:
		return nil, refuse("The operator removes `run_as`, or runs Paddock as root.", "`run_as: %s` needs root, and Paddock is uid %d", as.RunAs, euid), nil
	}
	found, err := lookup(as.RunAs)
	if err == nil && !mapped(ids, found.UID) {
		err = fmt.Errorf("uid %d isn't among those of this user namespace", found.UID)
	}
	if trust.Fault(err) {
		return nil, nil, err
	}
	if err != nil {
		return nil, refuse("The operator corrects `containment.run_as`, or makes that user.", "`run_as: %s`: %v", as.RunAs, err), nil
	}
	return found, nil, nil
}

// lookup finds the account that text names: by a user's name, or in numbers,
// which need no user that has them.
func lookup(text string) (*paddock.Account, error) {
	uid, gid, both := strings.Cut(text, ":")
	var found *user.User
	var err error
	number, notNumber := strconv.ParseUint(uid, 10, 32)
	if notNumber == nil {
		found, err = user.LookupId(uid)
		if unknown := user.UnknownUserIdError(0); errors.As(err, &unknown) {
			found, err = &user.User{Uid: uid, Gid: uid}, nil
		}
	} else {
		found, err = user.Lookup(text)
		if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
			err = errors.New("there is no such user")
		}
	}
	if err != nil {
		return nil, err
	}
	if both {
		found.Gid = gid
	}
	if notNumber != nil {
		if number, err = strconv.ParseUint(found.Uid, 10, 32); err != nil {
			return nil, err
		}
	}
	group, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	if number == 0 || group == 0 {
		return nil, fmt.Errorf("its uid is %d and its gid %d, and 0 is root's", number, group)
	}
	return &paddock.Account{UID: uint32(number), GID: uint32(group), Name: found.Username}, nil
}

// mapped reports whether the uid map text has id.
func mapped(text string, id uint32) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
		words := strings.Fields(line)
		if len(words) != 3 {
			return false
		}
		inside, err := strconv.ParseUint(words[0], 10, 32)
		count, bad := strconv.ParseUint(words[2], 10, 33)
		return err == nil && bad == nil && uint64(id) >= inside && uint64(id) < inside+count
	})
}

// Reach refuses where account can't get to the directory dir, its own home, for
// want of the right to pass through one above it.
func Reach(account paddock.Account, dir string) *paddock.Refusal {
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		var st unix.Stat_t
		if err := unix.Stat(above, &st); err != nil {
			return refuse("The operator names another state directory.", "its home, %s, can't be looked at: %v", dir, err)
		}
		right := uint32(unix.S_IXOTH)
		switch {
		case st.Uid == account.UID:
			right = unix.S_IXUSR
		case st.Gid == account.GID:
			right = unix.S_IXGRP
		}
		if st.Mode&right == 0 {
			return refuse(fmt.Sprintf("The operator lets others pass (chmod o+x %s), or names a state directory where they may.", above),
				"its home would be %s, and %s may not pass through %s", dir, account, above)
		}
		if above == filepath.Dir(above) {
			return nil
		}
	}
}
