package states

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/census/names/backup"
	"paddock/internal/app/evidence/census/names/backup/restore"
	"paddock/internal/trust"
)

// A Server is what the program knows of the server's database.
type Server struct {
	// Copy copies a database that may be in use to a new file, and Renew makes one of a
	// copy; nil in programs that have no drivers of databases.
	Copy, Renew func(ctx context.Context, from, to string) error
	// Rows opens what the store of a configuration has of runs; nil in the same programs.
	Rows func(ctx context.Context, config string) (Rows, error)
	// Flag adds the flag that names the configuration.
	Flag func(cmd *cobra.Command, config *string)
	// Become goes on as the program that has them, with the same words.
	Become func() error
	// Version is this program's.
	Version string
}

// database is the server's, in a state directory.
const database = "server.db"

func (d commands) backupCommand(s Server) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the state directory into a file, while it is used",
		Long: `Write everything that the state directory keeps into a new file: records and output
of runs, the journal, approvals, checklists, and of a server accounts and keys. Runs,
servers and others may go on meanwhile. What can be made again isn't in it, nor are
homes and changes that runs keep apart.

The file holds secrets: it is its owner's alone, and should stay so. Accounts that are
kept in PostgreSQL aren't in it; docs/operations.md has both.`,
		Example: `  paddock state backup /backup/paddock-$(date +%F).tar`,
		Args:    desk.Wants(1, 1, "the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			there, err := d.hasDatabase()
			if err != nil {
				return err
			}
			if there && s.Copy == nil {
				return s.Become()
			}
			return d.backup(cmd.Context(), d.Absolute(args[0]), s)
		},
	}
}

// hasDatabase says whether a server keeps accounts in the state directory.
func (d commands) hasDatabase() (bool, error) {
	_, err := os.Lstat(filepath.Join(d.StateDir(d.State), database))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d commands) backup(ctx context.Context, name string, s Server) (err error) {
	state := d.StateDir(d.State)
	if _, err := os.Stat(state); state == "" || errors.Is(err, fs.ErrNotExist) {
		return desk.Usage("there is no state directory "+desk.Plain(state), "name it with --state")
	}
	e, err := evidence.Open(d.Operator(), state, d.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if rel, err := filepath.Rel(e.State().Path(), name); err == nil && filepath.IsLocal(rel) {
		return desk.Usage("a backup inside the state directory would be lost with it", "name a file elsewhere, best on another machine's disk")
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return desk.Usage(desk.Plain(name)+" exists already", "name a new file")
	}
	if err != nil {
		return desk.Usage("the backup can't be written: "+err.Error(), "name a new file in a directory that is there")
	}
	sum, err := d.write(ctx, e, f, s)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	if d.JSON {
		return d.Object(sum)
	}
	return d.Fields(append([][2]string{{"file", desk.Plain(name)}}, summary(sum)...))
}

func (d commands) write(ctx context.Context, e *evidence.Evidence, f *os.File, s Server) (sum backup.Summary, err error) {
	room, err := os.MkdirTemp(filepath.Dir(f.Name()), ".paddock-backup-")
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(room)) }()
	if sum, err = backup.Write(ctx, e.State(), f, backup.Options{Database: s.Copy, Room: room, By: s.Version, Now: d.Now}); err != nil {
		return sum, err
	}
	return sum, f.Sync()
}

func summary(s backup.Summary) [][2]string {
	accounts := "none here; of a server on PostgreSQL back them up with pg_dump"
	if s.Database {
		accounts = "with them, and the key of second factors"
	}
	f := [][2]string{
		{"runs", fmt.Sprintf("%d, of which %d went on; those are lost where this is restored", s.Runs, s.Open)},
		{"accounts", accounts},
		{"size", strconv.FormatInt(s.Bytes, 10) + " bytes in " + strconv.FormatInt(s.Files, 10) + " files"},
	}
	if s.Apart > 0 {
		f = append(f, [2]string{"without", fmt.Sprintf("what %d runs have changed and keep apart", s.Apart)})
	}
	return f
}

// errAccounts is the error about accounts in a backup, for a program without drivers.
var errAccounts = errors.New("there are accounts in the backup, which paddock-server restores")

func (d commands) restoreCommand(s Server) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a state directory of a backup",
		Long: `Make the state directory, which must be missing or empty, of what paddock state backup
wrote. All of it is looked at first: of a file that was cut short or damaged nothing is
restored. Runs that went on when the backup was made are lost, with the output that
they had; orders that waited for approval must be given again.

Nobody else may be able to change the file: who does decides who logs in.`,
		Example: `  paddock state restore --state /var/lib/paddock /backup/paddock-2027-01-31.tar`,
		Args:    desk.Wants(1, 1, "the file to read"),
		RunE: func(cmd *cobra.Command, args []string) error {
			known := s
			if s.Renew == nil { // only the file says whether it has accounts
				known.Renew = func(context.Context, string, string) error { return errAccounts }
			}
			err := d.restore(cmd.Context(), d.Absolute(args[0]), known)
			if errors.Is(err, errAccounts) {
				return s.Become()
			}
			return err
		},
	}
}

func (d commands) restore(ctx context.Context, name string, s Server) (err error) {
	state := d.StateDir(d.State)
	if state == "" {
		return desk.Usage("there is no place to restore to", "set HOME, or name a directory with --state")
	}
	f, _, err := trust.User().Open(name)
	if err != nil {
		return desk.Usage(desk.Plain(name)+": "+err.Error(), "name a file that paddock state backup wrote, and that nobody else can change")
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := restore.Into(ctx, f, state, restore.Options{As: d.Operator(), Database: s.Renew, Now: d.Now})
	switch {
	case errors.Is(err, restore.ErrInTheWay):
		return desk.Usage("the state directory "+desk.Plain(state)+" isn't empty", "name a new one with --state, or move the old one away: nothing is restored over it")
	case errors.Is(err, restore.ErrNotWhole):
		return desk.Usage(desk.Plain(name)+": "+err.Error(), "nothing was restored; take an older backup")
	case err != nil:
		return err
	}
	if d.JSON {
		return d.Object(r)
	}
	d.Say("note", "paddock state check --digests and paddock audit verify look at all of it")
	return d.Fields(append([][2]string{
		{"state", desk.Plain(state)}, {"made", r.MadeAt.Format("2006-01-02 15:04:05 MST") + " by paddock " + desk.Plain(r.By)},
	}, summary(r.Summary)...))
}
