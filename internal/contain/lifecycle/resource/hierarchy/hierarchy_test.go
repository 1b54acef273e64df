//go:build linux

package hierarchy

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	systemd = `24 30 0:22 / /proc rw,nosuid - proc proc rw
35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
`
	hybrid = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:3 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	container = `900 800 0:50 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw,mode=755
901 900 0:32 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory
902 900 0:36 /docker/abc /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids
`
)

func TestHierarchies(t *testing.T) {
	t.Parallel()
	type v1 = map[string]hierarchy
	for _, tc := range []struct {
		name, mountinfo, cgroup string
		v2                      *hierarchy
		v1                      v1
	}{
		{"v2 only, systemd", systemd, "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope\n",
			&hierarchy{"/sys/fs/cgroup", "/", "/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope"}, v1{}},
		{"hybrid", hybrid, "9:name=systemd:/x\n8:pids:/\n4:memory:/api/1\n1:cpu,cpuacct:/a\n0::/\n",
			&hierarchy{"/sys/fs/cgroup/unified", "/", "/"}, v1{
				"cpu": {"/sys/fs/cgroup/cpu,cpuacct", "/", "/a"}, "cpuacct": {"/sys/fs/cgroup/cpu,cpuacct", "/", "/a"},
				"memory": {"/sys/fs/cgroup/memory", "/", "/api/1"}, "pids": {"/sys/fs/cgroup/pids", "/", "/"},
				"name=systemd": {"/sys/fs/cgroup/systemd", "/", "/x"},
			}},
		{"v1 only", strings.SplitAfter(hybrid, "\n")[2], "4:memory:/\n", nil, v1{"memory": {"/sys/fs/cgroup/memory", "/", "/"}}},
		{"container, memory read-only", container, "5:memory:/docker/abc\n4:pids:/docker/abc/in\n", nil,
			v1{"pids": {"/sys/fs/cgroup/pids", "/docker/abc", "/in"}}},
		{"container with a cgroup namespace", systemd, "0::/\n", &hierarchy{"/sys/fs/cgroup", "/", "/"}, v1{}},
		{"mounted before the cgroup namespace was made", "1 2 0:3 /../.. /cg rw - cgroup2 c rw\n", "0::/\n", nil, v1{}},
		{"outside of our cgroup namespace", systemd, "0::/../other\n", nil, v1{}},
		{"a part that isn't ours", "1 2 0:3 /docker/a /cg rw - cgroup2 c rw\n", "0::/docker/abc\n", nil, v1{}},
		{"read-only super block", "1 2 0:3 / /cg rw - cgroup2 c ro\n", "0::/\n", nil, v1{}},
		{"covered by another mount", systemd + "90 24 0:99 / /sys/fs/cgroup rw - tmpfs none rw\n", "0::/\n", nil, v1{}},
		{"the first of two", systemd + "90 24 0:99 / /other rw - cgroup2 none rw\n", "0::/\n", &hierarchy{"/sys/fs/cgroup", "/", "/"}, v1{}},
		{"white space in a path", `1 2 0:3 / /a\040b\134 rw - cgroup2 c rw` + "\n", "0::/\n", &hierarchy{`/a b\`, "/", "/"}, v1{}},
		{"a colon in a path", systemd, "0::/a:b\n", &hierarchy{"/sys/fs/cgroup", "/", "/a:b"}, v1{}},
		{"not a mount of cgroups", "1 2 0:3 / /cg rw - tmpfs cgroup2 rw\n", "0::/\n", nil, v1{}},
		{"none", "", "", nil, v1{}},
		{"rubbish", "x\n - \n1 2 3 4 5 6 - \n1 2 3 rel rel2 rw - cgroup2 c rw\n", "0:\n::\nx:y:z\n0::rel\n", nil, v1{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v2, v1 := parseHierarchies(tc.mountinfo, tc.cgroup)
			if diff := cmp.Diff(tc.v2, v2, cmp.AllowUnexported(hierarchy{})); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.v1, v1, cmp.AllowUnexported(hierarchy{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAncestorsFromTheTop(t *testing.T) {
	t.Parallel()
	got := hierarchy{"/cg", "/", "/a/b"}.ancestors()
	if want := []string{"/cg", "/cg/a", "/cg/a/b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (hierarchy{"/cg", "/", "/"}).ancestors(); !slices.Equal(got, []string{"/cg"}) {
		t.Errorf("got %q, want the mount alone", got)
	}
}

func TestOffers(t *testing.T) {
	t.Parallel()
	all, some := []string{"cpu", "memory"}, []string{"cpu"}
	for _, tc := range []struct {
		name  string
		place place
		want  []string
	}{
		{"the top, full of processes", place{all, nil, true, true}, all},
		{"a delegated subtree without processes of its own", place{all, some, false, false}, all},
		{"a container's top, with its processes in it", place{all, nil, false, true}, nil},
		{"with processes, enabled all the same", place{all, some, false, true}, some},
	} {
		if got := tc.place.offers(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// plant makes a directory that looks like a cgroup.
func plant(t *testing.T, at string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(path.Join(at, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What an ordinary user may write goes by modes; for root all of it is.
func TestOurPlaceInV2(t *testing.T) {
	t.Parallel()
	own := map[string]string{"cgroup.procs": "", "cgroup.type": "domain\n", "cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": "pids\n"}
	for _, tc := range []struct {
		name, own, folder string
		files             map[string]map[string]string
		controllers       []string
	}{
		{"nothing there", "/a", "", nil, nil},
		{"delegated further down", "/a/b", "/a/paddock", map[string]map[string]string{"/a": own, "/a/b": own}, []string{"cpu", "memory", "pids"}},
		{"inside one of our runs", "/paddock/run", "/paddock", map[string]map[string]string{"/paddock": own}, []string{"cpu", "memory", "pids"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for at, files := range tc.files {
				plant(t, dir+at, files)
			}
			got := findV2(hierarchy{dir, "/", tc.own})
			if tc.folder == "" {
				if got.Folder != "" || !strings.Contains(got.Why, dir+tc.own) {
					t.Errorf("got %+v, want a reason that names the directory", got)
				}
				return
			}
			if diff := cmp.Diff(Tree{Mount: dir, Root: "/", Folder: dir + tc.folder, Controllers: tc.controllers}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOurFolderInV1(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got, want := folderV1(hierarchy{dir, "/", "/a/b"}), dir+"/paddock"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	inside := t.TempDir() + "/paddock"
	plant(t, inside, nil)
	if got := folderV1(hierarchy{inside, "/", "/run"}); got != inside {
		t.Errorf("inside one of our runs: got %q, want %q", got, inside)
	}
	if got := folderV1(hierarchy{dir + "/missing", "/", "/"}); got != "" {
		t.Errorf("got %q where nothing is", got)
	}
}

func TestFindAgreesWithThisMachine(t *testing.T) {
	t.Parallel()
	tree, folders := Find("memory", "pids", "cpu", "nonsense")
	if (tree.Folder == "") != (tree.Why != "") {
		t.Errorf("%+v: want a folder or a reason", tree)
	}
	if _, ok := folders["nonsense"]; ok {
		t.Error("there is a folder for a controller that nobody has")
	}
	for c, folder := range folders {
		if path.Base(folder) != ownFolder {
			t.Errorf("%s: %s isn't a folder of ours", c, folder)
		}
	}
}

func FuzzHierarchies(f *testing.F) {
	for _, mountinfo := range []string{systemd, hybrid, container, "1 2 0:3 / /a\\040b rw - cgroup2 c rw"} {
		f.Add(mountinfo, "8:pids:/docker/abc/x\n4:memory:/docker/abc\n0::/user.slice\n")
	}
	f.Add("1 2 3 /../.. /\\000\\777\\ rw - cgroup c rw,,a", "1:,,a:/../x\x00\xff\n0::/"+strings.Repeat("a/", 3000))
	f.Fuzz(func(t *testing.T, mountinfo, cgroup string) {
		v2, v1 := parseHierarchies(mountinfo, cgroup)
		all := []hierarchy{}
		if v2 != nil {
			all = append(all, *v2)
		}
		for _, h := range v1 {
			all = append(all, h)
		}
		for _, h := range all {
			for _, at := range h.ancestors() {
				if inside := strings.TrimSuffix(path.Clean(h.mount), "/") + "/"; !strings.HasPrefix(path.Clean(at)+"/", inside) {
					t.Errorf("%q isn't below the mount %q", at, h.mount)
				}
			}
		}
	})
}
