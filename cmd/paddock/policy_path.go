package main

import (
	"crypto/sha256"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/lookup"
)

func (c *cli) policyPathCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Say which policy applies here and why",
		Args:  wants(0, 0, "no words"),
		RunE: func(*cobra.Command, []string) error {
			found, refusal := c.policyPlaces(c.settings.policy).Find()
			if refusal != nil {
				return refusal
			}
			digest := paddock.DigestOf(sha256.Sum256(found.Data()))
			if c.settings.json {
				return c.showJSON(struct {
					lookup.Found
					Digest paddock.Digest `json:"digest"`
				}{found, digest})
			}
			return c.fields([][2]string{{"policy", plain(found.Path)}, {"because", plain(found.Why)}, {"digest", string(digest)}})
		},
	}
}
