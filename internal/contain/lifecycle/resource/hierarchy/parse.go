package hierarchy

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// ownFolder is the folder below which all our cgroups are made.
const ownFolder = OwnFolder

// OwnFolder is the folder below which all our cgroups are made.
const OwnFolder = "paddock"

// A hierarchy is a mounted tree of cgroups and where this process is in it.
type hierarchy struct {
	mount string
	root  string // what of the whole is mounted there, "/" for all
	own   string // below mount, "/" for its top
}

// ancestors returns the directories from the mount down to this process's own,
// which are where our folder may go.
func (h hierarchy) ancestors() []string {
	at := h.mount
	all := []string{at}
	for part := range strings.SplitSeq(strings.Trim(h.own, "/"), "/") {
		if part != "" {
			at = path.Join(at, part)
			all = append(all, at)
		}
	}
	return all
}

// A mount is a line of /proc/self/mountinfo that shows cgroups.
type mount struct {
	root, point string
	v2          bool
	controllers []string // of v1
}

// parseHierarchies reads /proc/self/mountinfo and /proc/self/cgroup. It returns
// the v2 hierarchy, if there is one, and those of v1 by controller. What isn't
// mounted, is mounted read-only, or doesn't show this process's own place isn't
// there.
func parseHierarchies(mountinfo, cgroup string) (v2 *hierarchy, v1 map[string]hierarchy) {
	ownV2, ownV1 := parseOwn(cgroup)
	v1 = map[string]hierarchy{}
	for _, m := range parseMounts(mountinfo) {
		if m.v2 {
			if own, ok := below(m.root, ownV2); ok && v2 == nil {
				v2 = &hierarchy{m.point, m.root, own}
			}
			continue
		}
		for _, c := range m.controllers {
			own, ok := below(m.root, ownV1[c])
			if _, seen := v1[c]; ok && !seen {
				v1[c] = hierarchy{m.point, m.root, own}
			}
		}
	}
	return v2, v1
}

// below returns own as seen from root. A path with ".." is outside of our cgroup
// namespace: there is no way to it.
func below(root, own string) (string, bool) {
	if !path.IsAbs(own) || slices.Contains(strings.Split(root+"/"+own, "/"), "..") {
		return "", false
	}
	rest, ok := strings.CutPrefix(own, strings.TrimSuffix(root, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return path.Clean("/" + rest), true
}

// parseMounts returns the writable mounts of cgroups, those that cover others
// in their stead.
func parseMounts(mountinfo string) []mount {
	var all []mount
	for line := range strings.Lines(mountinfo) {
		// 36 35 98:0 /root /mount/point options optional… - type source superoptions
		before, after, ok := strings.Cut(line, " - ")
		fields, last := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 6 || len(last) < 1 {
			continue
		}
		m := mount{root: unescape(fields[3]), point: unescape(fields[4]), v2: last[0] == "cgroup2"}
		all = slices.DeleteFunc(all, func(covered mount) bool { return covered.point == m.point })
		if !m.v2 && last[0] != "cgroup" || !path.IsAbs(m.root) || !path.IsAbs(m.point) {
			continue
		}
		super := []string{}
		if len(last) > 2 {
			super = strings.Split(last[2], ",")
		}
		if slices.Contains(strings.Split(fields[5], ","), "ro") || slices.Contains(super, "ro") {
			continue
		}
		if !m.v2 {
			m.controllers = super // options that are no controller are asked for by nobody
		}
		all = append(all, m)
	}
	return all
}

// parseOwn returns the paths in /proc/self/cgroup: "" or nothing for none.
func parseOwn(cgroup string) (v2 string, v1 map[string]string) {
	v1 = map[string]string{}
	for line := range strings.Lines(cgroup) {
		// 4:memory,hugetlb:/path, and 0::/path for v2
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[0] == "0" && parts[1] == "":
			v2 = parts[2]
		default:
			for c := range strings.SplitSeq(parts[1], ",") {
				v1[c] = parts[2]
			}
		}
	}
	return v2, v1
}

// unescape undoes what mountinfo does to white space and backslashes: \040.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// A place is a v2 directory in which our folder may go.
type place struct {
	controllers, enabled []string
	// top: the rule that a cgroup with processes hands no controllers down
	// doesn't hold there.
	top, processes bool
}

// offers returns the controllers that a folder there can have.
func (p place) offers() []string {
	if p.top || !p.processes {
		return p.controllers
	}
	return p.enabled
}
