//go:build linux

package partition_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"paddock/internal/store/storetest"
	"paddock/internal/testproc"
)

// A standby is another instance of the database, at db2, without which nothing is
// committed.
type standby struct {
	d   *database
	cmd *testproc.Cmd
}

// follow makes a standby of the database.
func (d *database) follow() *standby {
	d.t.Helper()
	copied := testproc.Command(d.t, "env", append([]string{"PGPASSWORD=" + d.word}, nobody(filepath.Join(d.bin, "pg_basebackup"), "-h", d.sockets(), "-U", "boss", "-D", d.data("db2"), "-R", "-X", "stream", "--no-sync", "-c", "fast")...)...)
	copied.Dir = "/"
	if out, err := copied.CombinedOutput(); err != nil {
		d.t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	more, err := os.OpenFile(filepath.Join(d.data("db2"), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	must(d.t, err)
	_, err = fmt.Fprintf(more, "primary_conninfo = 'host=%s user=boss password=%s sslmode=require application_name=db2 connect_timeout=3 tcp_user_timeout=5000'\n", places["db"], d.word)
	must(d.t, err)
	must(d.t, more.Close())
	second := *d
	second.at = "db2"
	second.start()
	boss := d.socket("boss", "postgres")
	storetest.Do(d.t, boss, "ALTER SYSTEM SET synchronous_standby_names = 'db2'")
	storetest.Do(d.t, boss, "SELECT pg_reload_conf()")
	until(d.t, "the standby has all of it", func() string {
		out, err := testproc.Command(d.t, filepath.Join(d.bin, "psql"), "-At", boss, "-c", "SELECT sync_state FROM pg_stat_replication").CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "sync" {
			return fmt.Sprintf("%s, %v", out, err)
		}
		return ""
	})
	return &standby{&second, second.cmd}
}

// takeOver makes the standby the database: the other one is cut off, and can't commit
// anything any more, before it is ended.
func (d *database) takeOver(s *standby) {
	d.t.Helper()
	d.net.cut(d.at)
	run(d.t, nobody(filepath.Join(d.bin, "pg_ctl"), "promote", "-D", s.d.data("db2"), "-w")...)
	d.stop()
	d.net.join(d.at)
	d.at, d.cmd = s.d.at, s.cmd
}

// signal tells all processes of the database something.
func (d *database) signal(what syscall.Signal) {
	d.t.Helper()
	for _, pid := range append(children(d.cmd.Process.Pid), d.cmd.Process.Pid) {
		_ = syscall.Kill(pid, what) // it may have ended
	}
}

// children are those of a process.
func children(of int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		var pid, parent int
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if _, err := fmt.Sscan(string(text), &pid); err != nil || len(fields) < 2 {
			continue
		}
		if _, err := fmt.Sscan(fields[1], &parent); err == nil && parent == of {
			pids = append(pids, pid)
		}
	}
	return pids
}
