package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "devel"

// A versionInfo is what this program was made of.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	// Modified is set when the sources differed from the revision.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Stage    string `json:"stage,omitempty"`
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which Paddock this is",
		Args:  wants(0, 0, "no words"),
		RunE: func(*cobra.Command, []string) error {
			v := thisVersion()
			if c.settings.json {
				return c.showJSON(v)
			}
			f := [][2]string{{"paddock", v.Version}}
			if v.Revision != "" {
				f = append(f, [2]string{"revision", v.Revision + map[bool]string{true: " with changes"}[v.Modified]})
			}
			return c.fields(append(f, [2]string{"go", v.Go}, [2]string{"platform", v.Platform}))
		},
	}
}

func thisVersion() versionInfo {
	v := versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if version == "devel" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
