package executor

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/contain"
)

// shown looks from inside at what each run at full is shown, line by line: what isn't as it
// is to be is named. All of it is a second wall, and no other attempt finds it gone.
const shown = `
for n in kcore keys sysrq-trigger timer_list sched_debug kmsg latency_stats; do
	[ ! -e /proc/$n ] || [ "$(stat -c %t:%T /proc/$n)" = 1:3 ] || echo "/proc/$n is the machine's"
done
[ "$(stat -c %d:%i /)" = "$(stat -c %d:%i /..)" ] || echo "above the root is another"
[ "$(grep -c ' / / ' /proc/self/mountinfo)" = 1 ] || echo "more than one root is mounted"
[ "$(id -un):$(id -gn)" = paddock:paddock ] || echo "we are $(id)"
[ "$(grep -c . /etc/passwd):$(grep -c . /etc/group)" = 3:3 ] || echo "the users are others"
grep -q '^127.0.0.1 localhost paddock$' /etc/hosts || echo "the hosts are others"
made="passwd group hosts nsswitch.conf resolv.conf host.conf shells"
for n in $made; do
	[ -f /etc/$n ] || echo "there is no /etc/$n"
done
for n in /etc/* /etc/.[!.]*; do
	case " $made $theirs " in *" ${n#/etc/} "*) ;; *) [ ! -e $n ] || echo "there is $n" ;; esac
done
[ "$(hostname)" = paddock ] || echo "the host is $(hostname)"
for n in /proc /; do
	awk -v n=$n '$5 == n && $6 !~ /^ro/ {print n " can be written"}' /proc/self/mountinfo
done
[ "$(cat /proc/sys/user/max_user_namespaces)" = 0 ] || echo "there may be user namespaces"
awk '/^Cap/ && $2 !~ /^0+$/ {print "capabilities: " $0} /^NoNewPrivs/ && $2 != 1 {print}' /proc/self/status
awk '$6 !~ /nosuid/ {print "set-id programs count on " $5} $5 !~ "^/(dev|proc/)" && $6 !~ /nodev/ {print "devices count on " $5}' /proc/self/mountinfo
for outside; do
	[ "$(readlink /proc/self/ns/${outside%%:*})" != "$outside" ] || echo "$outside is the machine's"
done
echo end`

// What every run at full is shown of the machine, and has given up, is the same for root's
// runs and for an ordinary user's, also where it was made before the run was there.
func TestWhatIsShownAtFull(t *testing.T) {
	t.Parallel()
	asEach(t, func(t *testing.T) {
		var outside []string
		for _, name := range []string{"user", "mnt", "pid", "ipc", "uts", "cgroup", "net"} {
			own, err := os.Readlink("/proc/self/ns/" + name)
			must(t, err)
			outside = append(outside, own)
		}
		theirs := "theirs='"
		for _, e := range contain.Probe().Etc { // of some directories a part
			name, _, _ := strings.Cut(strings.TrimPrefix(e.Path, "/etc/"), "/")
			theirs += name + " "
		}
		theirs += "'"
		for _, warm := range []int{0, 1} {
			t.Run(fmt.Sprint("warm ", warm), func(t *testing.T) {
				a := (&theater{}).act(t, paddock.Full, "", "root")
				f := open(t, func(c *Config) {
					c.Policy, c.Warm, c.Stage = PolicyText("policy.yaml", []byte(a.policy)), warm, os.Getenv(stageVariable)
				})
				a.e = f.e
				for range 1 + 2*warm { // the first has what nothing was known of
					run, out := a.run(t, "root", append([]string{"sh", "-c", theirs + shown, "sh"}, outside...)...)
					if run.State != paddock.Exited || strings.TrimSpace(out) != "end" {
						t.Errorf("%s %+v\n%s", run.State, run.Outcome.Reason, out)
					}
				}
			})
		}
	})
}
