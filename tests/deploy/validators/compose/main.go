// Prints a Compose project as JSON, after Compose's own checks of it and with all variables filled in.
//
//	compose ENV_FILE COMPOSE_FILE...
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(env string, files []string) error {
	options, err := cli.NewProjectOptions(files,
		cli.WithEnvFiles(env),
		cli.WithDotEnv,
		cli.WithDefaultProfiles(),
		cli.WithInterpolation(true),
		cli.WithConsistency(true),
		cli.WithResolvedPaths(true),
	)
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}
