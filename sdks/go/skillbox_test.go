package skillbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

// go test, in this folder. What needs a box runs when SKILLBOX_URL and SKILLBOX_API_KEY name one.

type handler func(w http.ResponseWriter)

type asked struct {
	line    string
	headers http.Header
	body    string
}

// scripted is a box that answers what a test tells it to, and remembers what it was asked.
type scripted struct {
	*Client
	mutex   sync.Mutex
	answers []handler
	asked   []asked
	pauses  []time.Duration
}

func newScripted(t *testing.T, answers ...handler) *scripted {
	box := &scripted{answers: answers}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		box.mutex.Lock()
		box.asked = append(box.asked, asked{r.Method + " " + r.URL.RequestURI(), r.Header.Clone(), string(body)})
		if len(box.answers) == 0 {
			box.mutex.Unlock()
			t.Errorf("nothing answers %s %s", r.Method, r.URL)
			return
		}
		next := box.answers[0]
		box.answers = box.answers[1:]
		box.mutex.Unlock()
		next(w)
	}))
	t.Cleanup(server.Close)
	real := sleep
	sleep = func(ctx context.Context, pause time.Duration) error {
		box.pauses = append(box.pauses, pause)
		return ctx.Err()
	}
	t.Cleanup(func() { sleep = real })
	box.Client = New(server.URL, "sk-key", WithHTTPClient(server.Client()))
	return box
}

// seen is what it was asked so far.
func (box *scripted) seen() []asked {
	box.mutex.Lock()
	defer box.mutex.Unlock()
	return append([]asked(nil), box.asked...)
}

func answers(value any) handler {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(value)
	}
}

func refuses(status int, code string, retryAfter string) handler {
	return func(w http.ResponseWriter) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":%q,"message":"No.","hint":"Later.","details":{"a":1},"request_id":"r-1"}`, code)
	}
}

func breaks(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func says(content string) handler {
	return func(w http.ResponseWriter) { io.WriteString(w, content) }
}

// streams what it is given, and breaks.
func streams(blocks ...string) handler {
	return func(w http.ResponseWriter) {
		io.WriteString(w, ": connected\n\n"+strings.Join(blocks, ""))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func status(number int, text string) string {
	return fmt.Sprintf("id: %d\nevent: status\ndata: {\"time\":\"t\",\"text\":%q}\n\n", number, text)
}

var (
	ctx    = context.Background()
	record = map[string]any{"execution_id": "e1", "status": "success", "files_list": []any{}, "output": map[string]any{"a": 1}}
	empty  = map[string]any{"items": []any{}, "next_cursor": nil}
)

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestARefusedRunIsSentAgainUnderTheSameKeyAfterThePauseThatWasAsked(t *testing.T) {
	box := newScripted(t, refuses(429, "queue_full", "3"), refuses(503, "overloaded", "1"), answers(record))
	result := must[*Execution](t)(box.Run(ctx, RunRequest{Skill: "x", Input: json.RawMessage(`{"n":1}`)}))
	equal(t, string(result.Output), `{"a":1}`)
	equal(t, len(box.seen()), 3)
	for _, one := range box.seen() {
		equal(t, one.headers.Get("Idempotency-Key"), box.seen()[0].headers.Get("Idempotency-Key"))
		equal(t, one.body, `{"input":{"n":1},"skill":"x","wait":true}`)
	}
	if len(box.seen()[0].headers.Get("Idempotency-Key")) < 16 || box.pauses[0] < 3*time.Second || box.pauses[0] > 3300*time.Millisecond || box.pauses[1] < time.Second {
		t.Error(box.pauses)
	}
}

func TestTwoRunsHaveTwoKeys(t *testing.T) {
	box := newScripted(t, answers(record), answers(record))
	must[*Execution](t)(box.Run(ctx, RunRequest{Skill: "x"}))
	must[*Execution](t)(box.Run(ctx, RunRequest{Skill: "x"}))
	if box.seen()[0].headers.Get("Idempotency-Key") == box.seen()[1].headers.Get("Idempotency-Key") {
		t.Error("the same key twice")
	}
}

func TestPausesGrowAndAttemptsEnd(t *testing.T) {
	refusal := refuses(503, "overloaded", "")
	box := newScripted(t, refusal, refusal, refusal, refusal)
	_, err := box.ListSkills(ctx)
	equal(t, CodeOf(err), "overloaded")
	equal(t, len(box.seen()), 4)
	for i, base := range []time.Duration{250, 500, 1000} {
		if base *= time.Millisecond; box.pauses[i] < base/2 || box.pauses[i] > base {
			t.Error(box.pauses)
		}
	}
}

func TestABoxThatAsksForTooMuchPatienceIsNotWaitedFor(t *testing.T) {
	box := newScripted(t, refuses(429, "rate_limited", "120"))
	_, err := box.ListSkills(ctx)
	var api *APIError
	if !errors.As(err, &api) || api.RetryAfter != 2*time.Minute || len(box.pauses) != 0 {
		t.Error(err, box.pauses)
	}
}

func TestABrokenConnectionIsMendedForWhatMayBeRepeatedOnly(t *testing.T) {
	box := newScripted(t, breaks, answers(empty), breaks, answers(record), breaks)
	equal(t, len(must[[]SkillSummary](t)(box.ListSkills(ctx))), 0)
	must[*Execution](t)(box.Run(ctx, RunRequest{Skill: "x"}))
	_, err := box.Keys.Create(ctx, CreateKey{Name: "x"})
	equal(t, CodeOf(err), "unreachable")
	equal(t, len(box.seen()), 5)
}

func TestWhatMayBeHalfDoneIsNotRepeated(t *testing.T) {
	box := newScripted(t, refuses(503, "unavailable", ""))
	_, err := box.Sandboxes.Create(ctx, CreateSandbox{})
	equal(t, CodeOf(err), "unavailable")
	equal(t, len(box.seen()), 1)
}

func TestAFileIsSentAgainFromWhereItBeganAndAPipeIsNot(t *testing.T) {
	box := newScripted(t, refuses(503, "overloaded", ""), answers(map[string]any{}), refuses(503, "overloaded", ""))
	file := strings.NewReader("skipped content")
	file.Seek(8, io.SeekStart)
	must[*FileEntry](t)(box.Sandbox("i1").Files.Write(ctx, "a", file, WriteOptions{}))
	equal(t, []string{box.seen()[0].body, box.seen()[1].body}, []string{"content", "content"})
	_, err := box.Sandbox("i1").Files.Write(ctx, "a", io.MultiReader(strings.NewReader("once")), WriteOptions{})
	equal(t, CodeOf(err), "overloaded")
	equal(t, len(box.seen()), 3)
}

func TestErrorsCarryEverythingTheBoxSaid(t *testing.T) {
	box := newScripted(t, refuses(404, "skill_not_found", ""))
	_, err := box.GetSkill(ctx, "x", "")
	equal(t, err, error(&APIError{404, "skill_not_found", "No.", "Later.", "r-1", json.RawMessage(`{"a":1}`), 0}))
	if !strings.Contains(err.Error(), "r-1") {
		t.Error(err)
	}
}

func TestSomethingThatIsNoBoxIsNamed(t *testing.T) {
	box := newScripted(t, func(w http.ResponseWriter) { w.WriteHeader(502); io.WriteString(w, "<html>") })
	if _, err := box.Health(ctx); err == nil || !strings.Contains(err.Error(), "not as a Skillbox does") {
		t.Error(err)
	}
	for _, address := range []string{"localhost:8080", "", "ftp://x"} {
		_, err := New(address, "k").Health(ctx)
		equal(t, CodeOf(err), "usage")
	}
}

func TestTenantAndKeyAreSent(t *testing.T) {
	box := newScripted(t, answers(record), answers(record))
	must[*Execution](t)(box.With(WithTenant("acme")).GetExecution(ctx, "e1"))
	must[*Execution](t)(box.GetExecution(ctx, "e1"))
	equal(t, box.seen()[0].headers.Get("X-Tenant-ID"), "acme")
	equal(t, box.seen()[1].headers.Get("X-Tenant-ID"), "")
	equal(t, box.seen()[0].headers.Get("Authorization"), "Bearer sk-key")
}

func TestTimeIsLimitedAndContextsEndCalls(t *testing.T) {
	release := make(chan struct{})
	cancelled, cancel := context.WithCancel(ctx)
	box := newScripted(t, func(http.ResponseWriter) { <-release }, func(http.ResponseWriter) { cancel(); <-release })
	defer close(release)
	_, err := box.With(WithTimeout(50*time.Millisecond)).Run(ctx, RunRequest{Skill: "x"})
	equal(t, CodeOf(err), "timed_out")
	equal(t, errors.Is(err, context.Canceled), false)
	equal(t, errors.Is(err, context.DeadlineExceeded), true)
	_, err = box.Run(cancelled, RunRequest{Skill: "x"})
	equal(t, errors.Is(err, context.Canceled), true)
	equal(t, len(box.seen()), 2)
}

func TestABrokenStreamGoesOnWhereItHadGotTo(t *testing.T) {
	box := newScripted(t, streams(status(1, "queued"), status(2, "running")), breaks, streams("id: 3\nevent: status\ndata: {"), streams(status(3, "success")))
	stream := box.Executions.Stream(ctx, "e1", "")
	var seen []string
	for stream.Next() {
		seen = append(seen, stream.Event().ID+" "+stream.Event().Data.Text)
	}
	equal(t, stream.Err(), nil)
	equal(t, seen, []string{"1 queued", "2 running", "3 success"})
	var from []string
	for _, one := range box.seen() {
		from = append(from, one.headers.Get("Last-Event-ID"))
	}
	equal(t, from, []string{"", "2", "2", "2"})
}

func TestAStreamThatIsRefusedSaysWhy(t *testing.T) {
	box := newScripted(t, refuses(404, "not_found", ""))
	stream := box.Executions.Stream(ctx, "e1", "")
	equal(t, stream.Next(), false)
	equal(t, CodeOf(stream.Err()), "not_found")
}

func result(paths ...string) *Execution {
	digest := sha256.Sum256([]byte("data"))
	execution := &Execution{ExecutionID: "e1"}
	for _, path := range paths {
		execution.FilesList = append(execution.FilesList, Artifact{Path: path, Size: 4, SHA256: hex.EncodeToString(digest[:])})
	}
	return execution
}

func TestNamesThatLeadOutWriteNothingAtAll(t *testing.T) {
	box := newScripted(t)
	folder := filepath.Join(t.TempDir(), "out")
	for _, bad := range []string{"../a", "/etc/a", "a/../../b", "a//b", "./a", `a\b`, "C:a", "a\x00b", ""} {
		if err := box.DownloadFiles(ctx, result("fine.txt", bad), folder); err == nil || !strings.Contains(err.Error(), "could lead out") {
			t.Error(bad, err)
		}
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestLinksThatAreThereAreNotFollowed(t *testing.T) {
	box := newScripted(t, says("data"))
	outside, folder := t.TempDir(), t.TempDir()
	kept := filepath.Join(outside, "kept.txt")
	os.WriteFile(kept, []byte("kept"), 0o600)
	os.Symlink(outside, filepath.Join(folder, "link"))
	os.Symlink(kept, filepath.Join(folder, "b.txt"))
	if err := box.DownloadFiles(ctx, result("link/a.txt"), folder); err == nil || !strings.Contains(err.Error(), "link is a link") {
		t.Error(err)
	}
	if err := box.DownloadFiles(ctx, result("b.txt"), folder); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]string{kept: "kept", filepath.Join(folder, "b.txt"): "data"} {
		equal(t, string(must[[]byte](t)(os.ReadFile(path))), want)
	}
}

func TestALinkThatTakesThePlaceOfAFolderIsNotFollowed(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	swap := func(w http.ResponseWriter) {
		os.Rename(filepath.Join(folder, "sub"), filepath.Join(folder, "moved"))
		os.Symlink(outside, filepath.Join(folder, "sub"))
		says("data")(w)
	}
	box := newScripted(t, swap)
	if err := box.DownloadFiles(ctx, result("sub/a.txt"), folder); err == nil || !strings.Contains(err.Error(), "was replaced while it was written") {
		t.Error(err)
	}
	equal(t, len(must[[]os.DirEntry](t)(os.ReadDir(outside))), 0)
}

func TestNoFolderStaysOpen(t *testing.T) {
	folder := t.TempDir()
	box := newScripted(t, says("data"), says("data"), says("dat!"))
	equal(t, box.DownloadFiles(ctx, result("a/b/c.txt", "d/e.txt"), folder), nil)
	if err := box.DownloadFiles(ctx, result("a/b/f.txt"), folder); err == nil {
		t.Error("it did not arrive as it was sent")
	}
	for _, entry := range must[[]os.DirEntry](t)(os.ReadDir("/proc/self/fd")) {
		if path, _ := os.Readlink("/proc/self/fd/" + entry.Name()); strings.HasPrefix(path, folder) {
			t.Error(path)
		}
	}
}

func TestWhatArrivesOtherwiseThanSentLeavesTheOldFile(t *testing.T) {
	box := newScripted(t, says("dat!"))
	folder := t.TempDir()
	os.WriteFile(filepath.Join(folder, "a.txt"), []byte("old"), 0o600)
	if err := box.DownloadFiles(ctx, result("a.txt"), folder); err == nil || !strings.Contains(err.Error(), "did not arrive") {
		t.Error(err)
	}
	entries := must[[]os.DirEntry](t)(os.ReadDir(folder))
	equal(t, len(entries), 1)
	equal(t, string(must[[]byte](t)(os.ReadFile(filepath.Join(folder, "a.txt")))), "old")
}

func TestPathsAreEncodedAndEveryPageIsRead(t *testing.T) {
	item := map[string]any{"name": "a"}
	box := newScripted(t, says("x"), answers(empty), answers(map[string]any{"items": []any{item}, "next_cursor": "c 1"}), answers(map[string]any{"items": []any{item, item}, "next_cursor": nil}))
	must[[]byte](t)(box.Executions.File(ctx, "e1", "a b/c?d#é.txt"))
	must[*Page[Sandbox]](t)(box.Sandboxes.List(ctx, SandboxQuery{Labels: map[string]string{"a": "1&2"}}))
	equal(t, len(must[[]SkillSummary](t)(box.ListSkills(ctx))), 3)
	equal(t, box.seen()[0].line, "GET /v1/executions/e1/files/a%20b/c%3Fd%23%C3%A9.txt")
	equal(t, box.seen()[1].line, "GET /v1/sandboxes?labels=a%3D1%25262")
	equal(t, box.seen()[3].line, "GET /v1/skills?cursor=c+1&limit=500")
}

func TestTextOfATerminalKeepsCharactersWhole(t *testing.T) {
	var held []byte
	var said string
	for _, chunk := range []string{"4oI=", "rCE=", "4oKs"} {
		text := chunk
		part, err := textOf(ProgramEvent{Base64: &text}, &held)
		if err != nil {
			t.Fatal(err)
		}
		said += part
	}
	equal(t, said, "€!€")
}

// live gives a box, where there is one. The common scenario of all SDKs is in tests/sdks.
func live(t *testing.T) *Client {
	if os.Getenv("SKILLBOX_URL") == "" {
		t.Skip("needs SKILLBOX_URL and SKILLBOX_API_KEY")
	}
	return New(os.Getenv("SKILLBOX_URL"), os.Getenv("SKILLBOX_API_KEY"))
}

func TestLiveOneClientServesManyGoroutines(t *testing.T) {
	client := live(t)
	totals := make(chan int, 6)
	for n := 1; n <= 6; n++ {
		go func(n int) {
			var output struct {
				Total int `json:"total_words"`
			}
			input, _ := json.Marshal(map[string]string{"text": strings.Repeat("a ", n)})
			result, err := client.Run(ctx, RunRequest{Skill: "word-counter", Input: input})
			if err == nil {
				err = json.Unmarshal(result.Output, &output)
			}
			if err != nil {
				t.Error(err)
			}
			totals <- output.Total
		}(n)
	}
	var seen []int
	for len(seen) < 6 {
		seen = append(seen, <-totals)
	}
	sort.Ints(seen)
	equal(t, seen, []int{1, 2, 3, 4, 5, 6})
}

func TestLiveAFolderAndItsFilesAreTheSameSkill(t *testing.T) {
	client := live(t)
	folder := "../../examples/skills/text-summary"
	again := must[*PushedSkill](t)(client.RegisterSkill(ctx, folder))
	equal(t, again.Created, false)
	files := map[string][]byte{}
	for _, file := range must[[]packedFile](t)(filesIn(folder)) {
		files[file.path] = file.data
	}
	equal(t, must[*PushedSkill](t)(client.Skills.PushFiles(ctx, files)).Digest, again.Digest)
}

func TestLiveASandboxStreams(t *testing.T) {
	client := live(t)
	sandbox := must[*SandboxHandle](t)(client.Sandboxes.Create(ctx, CreateSandbox{Template: "base", TTL: "10m"}))
	var said bytes.Buffer
	result := must[*ExecResult](t)(sandbox.Exec(ctx, ExecRequest{
		Cmd: "echo one; sleep 0.1; echo two; echo bad >&2; exit 4", OnStdout: func(text string) { said.WriteString(text) },
	}))
	equal(t, []any{*result.ExitCode, said.String(), result.Stderr}, []any{int64(4), "one\ntwo\n", "bad\n"})
	must[*FileEntry](t)(sandbox.Files.Write(ctx, "in/x.bin", io.MultiReader(strings.NewReader(strings.Repeat("a", 70_000)), strings.NewReader("b")), WriteOptions{}))
	equal(t, string(must[[]byte](t)(readAll(sandbox.Files.Open(ctx, "in/x.bin", ReadRange{Offset: 69_999})))), "ab")
	watched := must[*Stream[WatchEvent]](t)(sandbox.Files.Watch(ctx, "in", false))
	must[*FileEntry](t)(sandbox.Files.MakeDir(ctx, "in/new"))
	equal(t, watched.Next(), true)
	equal(t, watched.Event().Data.Path, "new")
	watched.Close()
	program := must[*ProgramHandle](t)(sandbox.Start(ctx, ExecRequest{Argv: []string{"cat"}, OpenStdin: true}))
	for _, step := range []error{program.Write(ctx, strings.NewReader("typed in")), program.CloseStdin(ctx)} {
		equal(t, step, nil)
	}
	equal(t, must[*ExecResult](t)(program.Wait(ctx, nil, nil)).Stdout, "typed in")
	soFar := program.Output(ctx, OutputQuery{SoFar: true, Encoding: "base64"})
	for soFar.Next() {
	}
	equal(t, soFar.Err(), nil)
	equal(t, must[*Sandbox](t)(sandbox.Destroy(ctx)).State, "destroyed")
}
