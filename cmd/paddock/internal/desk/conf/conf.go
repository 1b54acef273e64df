// Package conf finds and checks how a server is to be run.
//
// # Limits
//
// What the words mean is for internal/httpapi/settings to say. Files that anybody else
// could have changed are not believed.
package conf

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/settings"
	"paddock/internal/trust"
)

// System is the configuration of the whole machine's server.
const System = "/etc/paddock/server.yaml"

const mostToken = 4096

// Flag adds the flag that names the file.
func Flag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "config", "", "configuration `FILE` (default $PADDOCK_CONFIG or "+System+")")
	if err := cmd.MarkFlagFilename("config", "yaml", "yml"); err != nil {
		panic(err) // the flag is declared above
	}
}

// Command is paddock config.
func Command(d *desk.Desk) *cobra.Command {
	var file string
	check := &cobra.Command{
		Use:   "check",
		Short: "List everything that is wrong with a server's configuration",
		Long: `Read the configuration file and the environment as paddock serve would, and list
everything that is wrong by file, line and column. The exit status is 0 when all is
well and 1 when it isn't.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(*cobra.Command, []string) error {
			_, faults, err := read(d, file, nil)
			if err != nil {
				return err
			}
			if _, none := os.Lstat(System); file == "" && d.Getenv("PADDOCK_CONFIG") == "" && errors.Is(none, fs.ErrNotExist) {
				d.Say("note", "there is no "+System+", so this is about what holds without a file; --config names another")
			}
			if d.JSON {
				err = d.Object(report{Valid: len(faults) == 0, Errors: append([]settings.Fault{}, faults...)})
			} else {
				err = say(d, faults)
			}
			if err == nil && len(faults) > 0 {
				err = desk.ExitStatus(desk.ExitNo)
			}
			return err
		},
	}
	Flag(check, &file)
	group := d.Group(&cobra.Command{Use: "config", Short: "Check the configuration of a server"})
	group.AddCommand(check)
	return group
}

type report struct {
	Valid  bool             `json:"valid"`
	Errors []settings.Fault `json:"errors"`
}

func say(d *desk.Desk, faults []settings.Fault) error {
	text := "the configuration is valid\n"
	if len(faults) > 0 {
		text = ""
		for _, f := range faults {
			text += desk.Plain(f.String()) + "\n"
		}
	}
	_, err := io.WriteString(d.Out, text)
	return err
}

// Read puts the settings of a server together, or says everything that is wrong.
func Read(d *desk.Desk, file string, flags map[string]string) (settings.Settings, error) {
	s, faults, err := read(d, file, flags)
	if err == nil && len(faults) > 0 {
		var all []string
		for _, f := range faults {
			all = append(all, f.String())
		}
		err = desk.Usage(strings.Join(all, "\n"), "docs/server.md has every key; paddock config check says the same without starting anything")
	}
	return s, err
}

// Kept is Read of a server that has accounts already.
func Kept(d *desk.Desk, file string) (settings.Settings, error) {
	s, err := Read(d, file, nil)
	if err != nil || s.Postgres != "" {
		return s, err
	}
	state := d.StateDir(d.State)
	if _, err := os.Stat(filepath.Join(state, "server.db")); err != nil {
		return s, desk.Usage("there are no accounts in "+desk.Plain(state), "paddock serve makes them when it starts; --state names another directory, --server a server elsewhere")
	}
	return s, nil
}

func read(d *desk.Desk, file string, flags map[string]string) (settings.Settings, []settings.Fault, error) {
	named := file
	if named == "" {
		named = d.Getenv("PADDOCK_CONFIG")
	}
	path := System
	if named != "" {
		path = d.Absolute(named)
	}
	data, err := open(path, 1<<20)
	switch {
	case errors.Is(err, fs.ErrNotExist) && named == "":
		data = nil // the machine has none
	case errors.Is(err, fs.ErrNotExist):
		return settings.Settings{}, nil, desk.Usage("there is no file "+desk.Plain(path), "--config names the configuration of the server")
	case err != nil:
		return settings.Settings{}, nil, desk.Usage(desk.Plain(path)+": "+err.Error(), "nobody else may be able to change the configuration")
	}
	s, faults := settings.Read(settings.Sources{File: path, Data: data, Env: d.Env, Flags: flags, Usual: settings.Limits(entry.DefaultLimits())})
	return s, faults, nil
}

// open reads a file that only root and we can have written.
func open(path string, most int64) ([]byte, error) {
	f, _, err := trust.User().Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = errors.New("it is too long")
	}
	if data == nil {
		data = []byte{}
	}
	return data, err
}

// Token reads the administrator's token, which nobody else may be able to read.
func Token(s settings.Settings) (string, error) {
	if s.TokenFile == "" {
		return "", nil
	}
	f, _, err := trust.User().Open(s.TokenFile)
	if err != nil {
		return "", desk.Usage("token_file "+desk.Plain(s.TokenFile)+": "+err.Error(), "make one with: head -c 32 /dev/urandom | base64, readable by its owner alone")
	}
	defer f.Close()
	if err := trust.User().Closed(f); err != nil {
		return "", desk.Usage("token_file "+desk.Plain(s.TokenFile)+" "+err.Error(), "chmod 600 "+desk.Plain(s.TokenFile))
	}
	data, err := io.ReadAll(io.LimitReader(f, mostToken))
	token := strings.TrimSpace(string(data))
	if err == nil && token == "" {
		err = desk.Usage("token_file "+desk.Plain(s.TokenFile)+" is empty", "")
	}
	return token, err
}

// Exposed refuses an address that others reach without TLS, however it was opened: by
// its name, or by a service manager.
func Exposed(s settings.Settings, at net.Addr) error {
	addr, err := netip.ParseAddrPort(at.String())
	if err != nil || addr.Addr().IsLoopback() || s.Cert != "" || len(s.Proxies) > 0 && s.Secure() {
		return nil //nolint:nilerr // a socket has no port, and nobody else reaches it
	}
	return desk.Usage("others can reach "+at.String()+", and there is no TLS", "give the server tls, or trusted_proxies and an https public_url, or listen on "+settings.DefaultListen)
}
