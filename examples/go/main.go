// An agent in Go: it finds a skill for each job in the catalogue, runs several at once, follows one as it goes, and works in a sandbox.
//
// There is no model here, so that it runs offline and checks itself: choose does what a model would, from the same catalogue.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	skillbox "github.com/devs-group/skillbox/sdks/go"
)

type job struct {
	words string
	input string
}

var jobs = []job{
	{"count words", `{"text": "to be or not to be"}`},
	{"statistics of numbers", `{"data": [1, 2, 3, 4, 5]}`},
	{"summarise text", `{"text": "One box. It runs skills. Each run is apart.", "max_sentences": 1}`},
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client := skillbox.New(os.Getenv("SKILLBOX_URL"), os.Getenv("SKILLBOX_API_KEY"))
	for _, name := range []string{"data-analysis", "text-summary", "word-counter"} {
		if _, err := client.RegisterSkill(ctx, filepath.Join("..", "skills", name)); err != nil {
			log.Fatal(err)
		}
	}

	results := make([]*skillbox.Execution, len(jobs))
	var done sync.WaitGroup
	for i, one := range jobs {
		done.Add(1)
		go func(i int, one job) {
			defer done.Done()
			results[i] = work(ctx, client, one)
		}(i, one)
	}
	done.Wait()

	var words struct {
		Total int `json:"total_words"`
	}
	check(json.Unmarshal(results[0].Output, &words))
	require(words.Total == 6, "six words")

	folder, err := os.MkdirTemp("", "skillbox-go-")
	check(err)
	defer os.RemoveAll(folder)
	require(results[1].HasFiles(), "a chart")
	check(client.DownloadFiles(ctx, results[1], folder))
	chart, err := os.ReadFile(filepath.Join(folder, "chart.svg"))
	check(err)
	require(strings.Contains(string(chart), "<svg"), "a picture")

	follow(ctx, client)
	useSandbox(ctx, client)

	_, err = client.Run(ctx, skillbox.RunRequest{Skill: "word-counter", Input: json.RawMessage(`{"text": 7}`)})
	var refused *skillbox.APIError
	require(errors.As(err, &refused) && refused.ErrorCode == "invalid_input", "an input that does not fit is refused")
	fmt.Println("refused, as it should be:", refused.Message)
}

func work(ctx context.Context, client *skillbox.Client, one job) *skillbox.Execution {
	skill := choose(ctx, client, one.words)
	result, err := client.Run(ctx, skillbox.RunRequest{Skill: skill.Name, Version: skill.Version, Input: json.RawMessage(one.input)})
	check(err)
	require(result.Status == "success", skill.Name+" ended as "+result.Status+": "+result.Logs)
	fmt.Printf("%s: %s %s took %d ms\n", one.words, skill.Name, skill.Version, *result.DurationMS)
	return result
}

// choose takes the best match of the catalogue, with its instructions and schema, which a model would read.
func choose(ctx context.Context, client *skillbox.Client, words string) *skillbox.Skill {
	found, err := client.Skills.Search(ctx, words, 5)
	check(err)
	for _, summary := range found.Items {
		skill, err := client.GetSkill(ctx, summary.Name, "")
		check(err)
		if skill.Mode == "executable" && skill.InputSchema != nil {
			return skill
		}
	}
	log.Fatalf("no skill for: %s", words)
	return nil
}

func follow(ctx context.Context, client *skillbox.Client) {
	started, err := client.Executions.Submit(ctx, skillbox.RunRequest{Skill: "word-counter", Input: json.RawMessage(`{"text": "live"}`)})
	check(err)
	stream := client.Executions.Stream(ctx, started.ExecutionID, "")
	defer stream.Close()
	last := ""
	for stream.Next() {
		event := stream.Event()
		fmt.Printf("  %s %s\n", event.Event, strings.TrimSpace(event.Data.Text))
		last = event.Data.Text
	}
	check(stream.Err())
	require(last == "success", "the last event says how it ended")
}

func useSandbox(ctx context.Context, client *skillbox.Client) {
	sandbox, err := client.Sandboxes.Create(ctx, skillbox.CreateSandbox{Template: "base", TTL: "10m"})
	check(err)
	defer func() {
		gone, err := sandbox.Destroy(ctx)
		check(err)
		require(gone.State == "destroyed", "the sandbox is gone")
	}()
	_, err = sandbox.Files.Write(ctx, "notes/todo.txt", strings.NewReader("one\ntwo\n"), skillbox.WriteOptions{})
	check(err)
	result, err := sandbox.Exec(ctx, skillbox.ExecRequest{Cmd: "wc -l < notes/todo.txt", OnStdout: func(text string) { fmt.Print("  sandbox says ", text) }})
	check(err)
	require(*result.ExitCode == 0 && strings.TrimSpace(result.Stdout) == "2", "two lines")
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func require(holds bool, what string) {
	if !holds {
		log.Fatal("not so: ", what)
	}
}
