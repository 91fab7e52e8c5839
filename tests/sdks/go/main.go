// Runs the scenario through the Go SDK; README.md in the folder above says how.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	skillbox "github.com/devs-group/skillbox/sdks/go"
)

type step struct {
	Name          string            `json:"name"`
	Call          string            `json:"call"`
	With          map[string]any    `json:"with"`
	As            map[string]any    `json:"as"`
	CancelAfterMS int               `json:"cancel_after_ms"`
	Keep          map[string]string `json:"keep"`
}

var variables map[string]any

func main() {
	var scenario struct {
		Steps []step `json:"steps"`
	}
	text, err := os.ReadFile(os.Getenv("SCENARIO"))
	check(err)
	check(json.Unmarshal(text, &scenario))
	check(json.Unmarshal([]byte(os.Getenv("VARIABLES")), &variables))
	for _, one := range scenario.Steps {
		line := map[string]any{"step": one.Name}
		result, err := run(one)
		if err != nil {
			line["error"] = describe(err)
		} else {
			line["result"] = result
			keep(one.Keep, result)
		}
		printed, err := json.Marshal(line)
		check(err)
		fmt.Println(string(printed))
	}
}

func run(one step) (any, error) {
	ctx := context.Background()
	if one.CancelAfterMS > 0 {
		cancellable, cancel := context.WithCancel(ctx)
		defer cancel()
		timer := time.AfterFunc(time.Duration(one.CancelAfterMS)*time.Millisecond, cancel)
		defer timer.Stop()
		ctx = cancellable
	}
	given, ok := fill(one.With).(map[string]any)
	if !ok {
		given = map[string]any{}
	}
	return call(ctx, clientOf(one), one.Call, with{given})
}

// with are the arguments of a call.
type with struct{ fields map[string]any }

func (w with) text(name string) string {
	value, _ := w.fields[name].(string)
	return value
}

func (w with) number(name string) int {
	value, _ := w.fields[name].(float64)
	return int(value)
}

func (w with) truth(name string) bool {
	value, _ := w.fields[name].(bool)
	return value
}

// into gives all of them as a request of the SDK.
func into[T any](w with) T {
	var request T
	text, err := json.Marshal(w.fields)
	check(err)
	check(json.Unmarshal(text, &request))
	return request
}

func call(ctx context.Context, c *skillbox.Client, name string, w with) (any, error) {
	group, _, _ := strings.Cut(name, ".")
	switch group {
	case "client", "execution":
		return callClient(ctx, c, name, w)
	case "skills", "executions":
		return callWork(ctx, c, name, w)
	case "sandboxes", "sandbox":
		return callSandbox(ctx, c, name, w)
	case "program":
		return callProgram(ctx, c.Sandbox(w.text("id")).Program(int64(w.number("program"))), name, w)
	case "files":
		return callFiles(ctx, c.Sandbox(w.text("id")).Files, name, w)
	}
	return callRest(ctx, c, name, w)
}

func callClient(ctx context.Context, c *skillbox.Client, name string, w with) (any, error) {
	switch name {
	case "client.health":
		return c.Health(ctx)
	case "client.ready":
		return c.Ready(ctx)
	case "client.list_skills":
		return c.ListSkills(ctx)
	case "client.get_skill":
		return c.GetSkill(ctx, w.text("name"), w.text("version"))
	case "client.register_skill":
		return c.RegisterSkill(ctx, w.text("path"))
	case "client.run":
		return c.Run(ctx, runRequest(w))
	case "client.get_execution":
		return c.GetExecution(ctx, w.text("id"))
	case "client.get_execution_logs":
		return c.GetExecutionLogs(ctx, w.text("id"))
	case "client.download_files":
		result, err := c.GetExecution(ctx, w.text("id"))
		if err != nil {
			return nil, err
		}
		if err := c.DownloadFiles(ctx, result, w.text("folder")); err != nil {
			return nil, err
		}
		return filesIn(w.text("folder")), nil
	case "execution.has_files":
		result, err := c.GetExecution(ctx, w.text("id"))
		if err != nil {
			return nil, err
		}
		return result.HasFiles(), nil
	}
	return unknown(name)
}

func callWork(ctx context.Context, c *skillbox.Client, name string, w with) (any, error) {
	switch name {
	case "skills.list":
		return c.Skills.List(ctx, into[skillbox.PageQuery](w))
	case "skills.all":
		return c.Skills.All(ctx)
	case "skills.search":
		return c.Skills.Search(ctx, w.text("words"), w.number("limit"))
	case "skills.get":
		return c.Skills.Get(ctx, w.text("name"), w.text("version"))
	case "skills.versions":
		return c.Skills.Versions(ctx, w.text("name"))
	case "skills.file":
		return content(c.Skills.File(ctx, w.text("name"), w.text("version"), w.text("path")))
	case "skills.push":
		archive, err := os.Open(w.text("path"))
		check(err)
		defer archive.Close()
		return c.Skills.Push(ctx, archive)
	case "skills.push_files":
		files := map[string][]byte{}
		for path, text := range w.fields["files"].(map[string]any) {
			files[path] = []byte(text.(string))
		}
		return c.Skills.PushFiles(ctx, files)
	case "skills.push_folder":
		return c.Skills.PushFolder(ctx, w.text("path"))
	case "skills.delete":
		return nil, c.Skills.Delete(ctx, w.text("name"), w.text("version"))
	case "skills.build":
		return c.Skills.Build(ctx, w.text("name"), w.text("version"))
	case "skills.build_log":
		return c.Skills.BuildLog(ctx, w.text("name"), w.text("version"))
	case "executions.run":
		return c.Executions.Run(ctx, runRequest(w))
	case "executions.submit":
		return c.Executions.Submit(ctx, runRequest(w))
	case "executions.wait":
		return c.Executions.Wait(ctx, w.text("id"))
	case "executions.stream":
		return events(c.Executions.Stream(ctx, w.text("id"), w.text("last_event_id")), 0)
	case "executions.figures":
		return c.Executions.Figures(ctx, w.text("window"), w.text("skill"))
	case "executions.list":
		return c.Executions.List(ctx, into[skillbox.ExecutionQuery](w))
	case "executions.all":
		return c.Executions.All(ctx, into[skillbox.ExecutionQuery](w))
	case "executions.get":
		return c.Executions.Get(ctx, w.text("id"))
	case "executions.logs":
		return c.Executions.Logs(ctx, w.text("id"))
	case "executions.cancel":
		return c.Executions.Cancel(ctx, w.text("id"))
	case "executions.delete":
		return nil, c.Executions.Delete(ctx, w.text("id"))
	case "executions.files":
		return c.Executions.Files(ctx, w.text("id"))
	case "executions.file":
		return content(c.Executions.File(ctx, w.text("id"), w.text("path")))
	case "executions.archive":
		return content(c.Executions.Archive(ctx, w.text("id")))
	}
	return unknown(name)
}

func callSandbox(ctx context.Context, c *skillbox.Client, name string, w with) (any, error) {
	sandbox := c.Sandbox(w.text("id"))
	switch name {
	case "sandboxes.create":
		made, err := c.Sandboxes.Create(ctx, into[skillbox.CreateSandbox](w))
		if err != nil {
			return nil, err
		}
		return made.Record, nil
	case "sandboxes.list":
		return c.Sandboxes.List(ctx, sandboxQuery(w))
	case "sandboxes.all":
		return c.Sandboxes.All(ctx, sandboxQuery(w))
	case "sandboxes.snapshots":
		return c.Sandboxes.Snapshots(ctx, w.text("sandbox"), into[skillbox.PageQuery](w))
	case "sandboxes.delete_snapshot":
		return nil, c.Sandboxes.DeleteSnapshot(ctx, w.text("snapshot"))
	case "sandbox.get":
		return sandbox.Get(ctx)
	case "sandbox.destroy":
		return sandbox.Destroy(ctx)
	case "sandbox.recreate":
		return sandbox.Recreate(ctx)
	case "sandbox.set_ttl":
		return sandbox.SetTTL(ctx, duration(w.fields["ttl"]))
	case "sandbox.set_network":
		return sandbox.SetNetwork(ctx, into[skillbox.NetworkChange](w))
	case "sandbox.pause":
		return sandbox.Pause(ctx)
	case "sandbox.resume":
		return sandbox.Resume(ctx)
	case "sandbox.snapshot":
		return sandbox.Snapshot(ctx, w.text("name"))
	case "sandbox.restore":
		return sandbox.Restore(ctx, w.text("snapshot"))
	case "sandbox.fork":
		handles, err := sandbox.Fork(ctx, w.number("count"), duration(w.fields["ttl"]))
		records := []*skillbox.Sandbox{}
		for _, handle := range handles {
			records = append(records, handle.Record)
		}
		return records, err
	case "sandbox.events":
		return sandbox.Events(ctx, into[skillbox.PageQuery](w))
	case "sandbox.all_events":
		return sandbox.AllEvents(ctx)
	case "sandbox.metrics":
		return sandbox.Metrics(ctx)
	case "sandbox.preview_link":
		return sandbox.PreviewLink(ctx, w.number("port"))
	case "sandbox.programs":
		return sandbox.Programs(ctx)
	case "sandbox.start":
		program, err := sandbox.Start(ctx, execRequest(w))
		if err != nil {
			return nil, err
		}
		return map[string]any{"program_id": program.Program}, nil
	case "sandbox.exec":
		return execute(ctx, sandbox, w)
	}
	return unknown(name)
}

func execute(ctx context.Context, sandbox *skillbox.SandboxHandle, w with) (any, error) {
	request := execRequest(w)
	if !w.truth("stream") {
		return sandbox.Exec(ctx, request)
	}
	var stdout, stderr strings.Builder
	request.OnStdout = func(text string) { stdout.WriteString(text) }
	request.OnStderr = func(text string) { stderr.WriteString(text) }
	result, err := waited(sandbox.Exec(ctx, request))
	if err != nil {
		return nil, err
	}
	result["heard_stdout"], result["heard_stderr"] = stdout.String(), stderr.String()
	return result, nil
}

func callProgram(ctx context.Context, program *skillbox.ProgramHandle, name string, w with) (any, error) {
	switch name {
	case "program.get":
		return program.Get(ctx)
	case "program.output":
		query := skillbox.OutputQuery{Encoding: w.text("encoding"), LastEventID: w.text("last_event_id")}
		query.SoFar = w.fields["follow"] == false
		return events(program.Output(ctx, query), 0)
	case "program.wait":
		return waited(program.Wait(ctx, nil, nil))
	case "program.write":
		return nil, program.Write(ctx, strings.NewReader(w.text("data")))
	case "program.close_stdin":
		return nil, program.CloseStdin(ctx)
	case "program.kill":
		return nil, program.Kill(ctx, w.text("signal"))
	case "program.resize":
		return nil, program.Resize(ctx, w.number("cols"), w.number("rows"))
	}
	return unknown(name)
}

func callFiles(ctx context.Context, files *skillbox.SandboxFiles, name string, w with) (any, error) {
	switch name {
	case "files.read":
		body, err := files.Open(ctx, w.text("path"), into[skillbox.ReadRange](w))
		if err != nil {
			return nil, err
		}
		defer body.Close()
		return content(io.ReadAll(body))
	case "files.read_text":
		text, err := files.Read(ctx, w.text("path"))
		return string(text), err
	case "files.write":
		return files.Write(ctx, w.text("path"), strings.NewReader(w.text("content")), into[skillbox.WriteOptions](w))
	case "files.stat":
		return files.Stat(ctx, w.text("path"))
	case "files.list":
		return files.List(ctx, w.text("path"), into[skillbox.ListQuery](w))
	case "files.make_dir":
		return files.MakeDir(ctx, w.text("path"))
	case "files.move":
		return files.Move(ctx, w.text("from"), w.text("to"))
	case "files.remove":
		return nil, files.Remove(ctx, w.text("path"))
	case "files.watch":
		stream, err := files.Watch(ctx, w.text("path"), w.truth("recursive"))
		if err != nil {
			return nil, err
		}
		return events(stream, w.number("first"))
	}
	return unknown(name)
}

func callRest(ctx context.Context, c *skillbox.Client, name string, w with) (any, error) {
	switch name {
	case "templates.list":
		return c.Templates.List(ctx)
	case "templates.get":
		return c.Templates.Get(ctx, w.text("name"))
	case "templates.apply":
		return c.Templates.Apply(ctx, w.text("name"), w.fields["definition"].(map[string]any))
	case "templates.explain":
		return c.Templates.Explain(ctx, w.text("name"))
	case "keys.create":
		return c.Keys.Create(ctx, into[skillbox.CreateKey](w))
	case "keys.list":
		return c.Keys.List(ctx, into[skillbox.KeyQuery](w))
	case "keys.all":
		return c.Keys.All(ctx, w.text("tenant"))
	case "keys.self":
		return c.Keys.Self(ctx)
	case "sign_in.link":
		return c.SignIn.Link(ctx)
	case "sign_in.exchange":
		return c.SignIn.Exchange(ctx, w.text("code"))
	case "sign_in.end":
		return nil, c.SignIn.End(ctx)
	case "keys.revoke":
		return c.Keys.Revoke(ctx, w.text("id"))
	case "tenants.list":
		return c.Tenants.List(ctx)
	case "tenants.set":
		return c.Tenants.Set(ctx, w.text("name"), into[skillbox.TenantChange](w))
	case "credits.balance":
		return c.Credits.Balance(ctx)
	case "credits.grant":
		return c.Credits.Grant(ctx, into[skillbox.GrantCredits](w))
	case "credits.history":
		return c.Credits.History(ctx, into[skillbox.PageQuery](w))
	case "credits.all_history":
		return c.Credits.AllHistory(ctx)
	case "secrets.set":
		return c.Secrets.Set(ctx, w.text("name"), w.text("value"))
	case "secrets.list":
		return c.Secrets.List(ctx, into[skillbox.PageQuery](w))
	case "secrets.all":
		return c.Secrets.All(ctx)
	case "secrets.delete":
		return nil, c.Secrets.Delete(ctx, w.text("name"))
	case "events.list":
		return c.Events.List(ctx, into[skillbox.EventQuery](w))
	case "events.follow":
		return events(c.Events.Follow(ctx, w.text("type"), w.number("recent"), ""), w.number("first"))
	case "events.all":
		return c.Events.All(ctx, into[skillbox.EventQuery](w))
	case "webhooks.create":
		return c.Webhooks.Create(ctx, into[skillbox.CreateWebhook](w))
	case "webhooks.list":
		return c.Webhooks.List(ctx)
	case "webhooks.get":
		return c.Webhooks.Get(ctx, w.text("name"))
	case "webhooks.delete":
		return nil, c.Webhooks.Delete(ctx, w.text("name"))
	case "webhooks.test":
		return c.Webhooks.Test(ctx, w.text("name"))
	case "webhooks.deliveries":
		return c.Webhooks.Deliveries(ctx, w.text("name"), into[skillbox.DeliveryQuery](w))
	case "webhooks.retry":
		return c.Webhooks.Retry(ctx, w.text("name"), w.text("event"))
	case "host.inspect":
		return c.Host.Inspect(ctx)
	case "host.doctor":
		return c.Host.Doctor(ctx)
	case "host.stale":
		return c.Host.Stale(ctx)
	case "host.canary":
		return c.Host.Canary(ctx)
	case "host.reap":
		return c.Host.Reap(ctx, w.truth("dry_run"))
	case "runtime.status":
		return c.Runtime.Status(ctx, into[skillbox.GraphSelection](w))
	case "runtime.describe":
		return c.Runtime.Describe(ctx)
	case "runtime.render":
		return c.Runtime.Render(ctx, into[skillbox.GraphSelection](w), w.truth("why"))
	case "runtime.sync":
		request := into[skillbox.SyncRequest](w)
		return listened(w, &request.OnProgress, func() (any, error) { return c.Runtime.Sync(ctx, request) })
	case "runtime.bootstrap":
		request := into[skillbox.BootstrapRequest](w)
		return listened(w, &request.OnProgress, func() (any, error) { return c.Runtime.Bootstrap(ctx, request) })
	case "runtime.up":
		request := into[skillbox.ServiceRequest](w)
		return listened(w, &request.OnProgress, func() (any, error) { return c.Runtime.Up(ctx, request) })
	case "runtime.down":
		request := into[skillbox.ServiceRequest](w)
		return listened(w, &request.OnProgress, func() (any, error) { return c.Runtime.Down(ctx, request) })
	case "runtime.restart":
		request := into[skillbox.ServiceRequest](w)
		return listened(w, &request.OnProgress, func() (any, error) { return c.Runtime.Restart(ctx, request) })
	case "runtime.logs":
		return c.Runtime.Logs(ctx, into[skillbox.LogQuery](w))
	case "runtime.follow_logs":
		return events(c.Runtime.FollowLogs(ctx, into[skillbox.LogQuery](w), ""), w.number("first"))
	case "runtime.doctor":
		return c.Runtime.Doctor(ctx, into[skillbox.GraphSelection](w))
	case "runtime.context":
		return c.Runtime.Context(ctx, into[skillbox.SyncRequest](w))
	case "runtime.focus":
		request := into[skillbox.FocusRequest](w)
		return listened(w, &request.OnProgress, func() (any, error) { return c.Runtime.Focus(ctx, request) })
	case "runtime.pulse":
		return c.Runtime.Pulse(ctx)
	case "runtime.start_pulse":
		return c.Runtime.StartPulse(ctx, float64(w.number("interval")))
	case "runtime.stop_pulse":
		return c.Runtime.StopPulse(ctx)
	case "sessions.start":
		return c.Sessions.Start(ctx, into[skillbox.StartSession](w))
	case "sessions.event":
		return c.Sessions.Event(ctx, w.text("id"), into[skillbox.AddSessionEvent](w))
	case "sessions.heartbeat":
		return c.Sessions.Heartbeat(ctx, w.text("id"))
	case "sessions.end":
		return c.Sessions.End(ctx, w.text("id"), into[skillbox.EndSession](w))
	case "sessions.resume":
		return c.Sessions.Resume(ctx, w.text("id"))
	case "sessions.get":
		return c.Sessions.Get(ctx, w.text("id"))
	case "sessions.list":
		return c.Sessions.List(ctx, into[skillbox.SessionQuery](w))
	}
	return unknown(name)
}

func unknown(name string) (any, error) {
	fail(fmt.Errorf("there is no call %s here", name))
	return nil, nil
}

// runRequest: its key is no field of the API, and its files are bytes, which JSON has in base64 as the API does.
func runRequest(w with) skillbox.RunRequest {
	request := into[skillbox.RunRequest](w)
	request.IdempotencyKey = w.text("idempotency_key")
	return request
}

func execRequest(w with) skillbox.ExecRequest {
	request := skillbox.ExecRequest{
		Cmd: w.text("command"), Cwd: w.text("cwd"), Stdin: w.text("stdin"), OpenStdin: w.truth("stdin"), Timeout: w.text("timeout"), Tag: w.text("tag"),
	}
	if words, ok := w.fields["command"].([]any); ok {
		for _, word := range words {
			request.Argv = append(request.Argv, word.(string))
		}
	}
	more := into[struct {
		Env map[string]string
		Pty *skillbox.PtySize
	}](w)
	request.Env, request.Pty = more.Env, more.Pty
	return request
}

// sandboxQuery: the API has labels as a query.
func sandboxQuery(w with) skillbox.SandboxQuery {
	query := skillbox.SandboxQuery{State: w.text("state"), Template: w.text("template"), Tenant: w.text("tenant"), PageQuery: into[skillbox.PageQuery](w)}
	labels, err := url.ParseQuery(w.text("labels"))
	check(err)
	for name, values := range labels {
		if query.Labels == nil {
			query.Labels = map[string]string{}
		}
		query.Labels[name] = values[0]
	}
	return query
}

// duration: the API also takes seconds.
func duration(value any) string {
	if seconds, ok := value.(float64); ok {
		return fmt.Sprintf("%gs", seconds)
	}
	text, _ := value.(string)
	return text
}

func content(data []byte, err error) (any, error) {
	return map[string]any{"base64": data}, err
}

func waited(result *skillbox.ExecResult, err error) (map[string]any, error) {
	if err != nil {
		return nil, err
	}
	shown := plain(result).(map[string]any)
	delete(shown, "pid")
	delete(shown, "timed_out")
	return shown, nil
}

// events reads a stream: as many as are wanted, or to its end.
// listened adds to the result what was heard of services, where the step asks for progress.
func listened(w with, onProgress *func(skillbox.WorkProgress), work func() (any, error)) (any, error) {
	if !w.truth("progress") {
		return work()
	}
	ended := map[string]bool{}
	*onProgress = func(progress skillbox.WorkProgress) {
		if step := progress.Step; step != nil && step.Kind == "service" && step.State != "running" {
			ended[step.Name+" "+step.State] = true
		}
	}
	result, err := work()
	if err != nil {
		return nil, err
	}
	heard := []string{}
	for one := range ended {
		heard = append(heard, one)
	}
	sort.Strings(heard)
	whole := plain(result).(map[string]any)
	whole["heard"] = heard
	return whole, nil
}

func events[T any](stream *skillbox.Stream[T], wanted int) (any, error) {
	defer stream.Close()
	seen := []any{}
	for stream.Next() {
		event := stream.Event()
		data := plain(event.Data).(map[string]any)
		if program, ok := any(event.Data).(skillbox.ProgramEvent); ok && event.Event == "end" {
			// null is said for the end of a program.
			data["exit_code"], data["signal"] = program.ExitCode, program.Signal
		}
		seen = append(seen, map[string]any{"id": event.ID, "event": event.Event, "data": data})
		if len(seen) == wanted {
			break
		}
	}
	return seen, stream.Err()
}

// plain is a value as JSON has it.
func plain(value any) any {
	text, err := json.Marshal(value)
	check(err)
	var shown any
	check(json.Unmarshal(text, &shown))
	return shown
}

func filesIn(folder string) []string {
	paths := []string{}
	check(filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, err := filepath.Rel(folder, path)
			check(err)
			paths = append(paths, relative)
		}
		return err
	}))
	sort.Strings(paths)
	return paths
}

func clientOf(one step) *skillbox.Client {
	as, ok := fill(one.As).(map[string]any)
	if !ok {
		as = map[string]any{}
	}
	chosen := with{as}
	address, key := os.Getenv("SKILLBOX_URL"), os.Getenv("SKILLBOX_API_KEY")
	if chosen.text("url") != "" {
		address = chosen.text("url")
	}
	if chosen.text("key") != "" {
		key = chosen.text("key")
	}
	var options []skillbox.Option
	if given, ok := chosen.fields["options"].(map[string]any); ok {
		if retries, ok := given["max_retries"].(float64); ok {
			options = append(options, skillbox.WithMaxRetries(int(retries)))
		}
		if limit, ok := given["timeout_ms"].(float64); ok {
			options = append(options, skillbox.WithTimeout(time.Duration(limit)*time.Millisecond))
		}
	}
	if tenant := chosen.text("tenant"); tenant != "" {
		options = append(options, skillbox.WithTenant(tenant))
	}
	return skillbox.New(address, key, options...)
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// fill puts variables in place of ${name}.
func fill(value any) any {
	switch value := value.(type) {
	case []any:
		filled := make([]any, len(value))
		for i, one := range value {
			filled[i] = fill(one)
		}
		return filled
	case map[string]any:
		filled := map[string]any{}
		for name, one := range value {
			filled[name] = fill(one)
		}
		return filled
	case string:
		if match := variable.FindStringSubmatch(value); match != nil && match[0] == value {
			return known(match[1])
		}
		return variable.ReplaceAllStringFunc(value, func(match string) string { return fmt.Sprint(known(strings.Trim(match, "${}"))) })
	}
	return value
}

func known(name string) any {
	value, ok := variables[name]
	if !ok {
		fail(fmt.Errorf("there is no variable %s", name))
	}
	return value
}

func keep(wanted map[string]string, result any) {
	for name, pointer := range wanted {
		value := plain(result)
		for _, part := range strings.Split(pointer, "/")[1:] {
			if list, ok := value.([]any); ok {
				index, err := strconv.Atoi(part)
				check(err)
				value = list[index]
				continue
			}
			value = value.(map[string]any)[part]
		}
		variables[name] = value
	}
}

func describe(err error) map[string]any {
	said := map[string]any{"code": nil, "status": nil, "hint": nil, "request_id": nil, "retry_after": nil}
	var api *skillbox.APIError
	var client *skillbox.ClientError
	switch {
	case errors.Is(err, context.Canceled):
		said["code"] = "cancelled"
	case errors.As(err, &api):
		said["code"], said["status"], said["hint"], said["request_id"] = api.ErrorCode, api.StatusCode, api.Hint, api.RequestID
		if api.RetryAfter > 0 {
			said["retry_after"] = api.RetryAfter.Seconds()
		}
	case errors.As(err, &client):
		said["code"], said["hint"] = client.Code, client.Hint
	default:
		fail(err)
	}
	return said
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
