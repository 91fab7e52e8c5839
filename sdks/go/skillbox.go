// Package skillbox is the Go SDK of Skillbox: one file, standard library only.
//
//	client := skillbox.New("http://localhost:8080", "sk-your-key")
//	result, err := client.Run(ctx, skillbox.RunRequest{Skill: "data-analysis", Input: json.RawMessage(`{"data": [1, 2, 3]}`)})
//
// Everything of /v1 is in groups: Skills, Executions, Sandboxes, Templates, Keys, Tenants, Credits, Secrets, Events, Webhooks, Host,
// Runtime and Sessions.
// A Client may be used by several goroutines. The context of a call ends it.
package skillbox

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Version of the SDK.
const Version = "0.1.0"

// Client is a box.
type Client struct {
	Skills     *Skills
	Executions *Executions
	Sandboxes  *Sandboxes
	Templates  *Templates
	Keys       *Keys
	SignIn     *SignIn
	Tenants    *Tenants
	Credits    *Credits
	Secrets    *Secrets
	Events     *Events
	Webhooks   *Webhooks
	Host       *Host
	Runtime    *Runtime
	Sessions   *Sessions
	conn       *connection
}

// Option changes how calls are made.
type Option func(*connection)

// WithTenant says whom an administrator acts for; other keys have their own tenant.
func WithTenant(tenant string) Option {
	return func(c *connection) { c.tenant = tenant }
}

// WithTimeout limits one attempt, until the answer is there; a negative one is no limit. Default: a minute, and none for what is waited
// for: runs, programs, new sandboxes.
func WithTimeout(limit time.Duration) Option {
	return func(c *connection) { c.timeout = limit }
}

// WithMaxRetries sets the number of attempts after the first, on 429, 503 and broken connections. Default: 3.
func WithMaxRetries(retries int) Option {
	return func(c *connection) { c.maxRetries = retries }
}

// WithLongestPause: a box that asks for a longer pause is not waited for. Default: 30 seconds.
func WithLongestPause(pause time.Duration) Option {
	return func(c *connection) { c.longestPause = pause }
}

// WithHTTPClient sends requests with another client than the one that all of this package share.
func WithHTTPClient(client *http.Client) Option {
	return func(c *connection) { c.http = client }
}

// New makes a client of a box. Nothing is asked of it yet.
func New(address, key string, options ...Option) *Client {
	conn := connection{url: strings.TrimRight(address, "/"), key: key, maxRetries: 3, longestPause: 30 * time.Second, http: shared}
	return conn.with(options)
}

// With gives a client of the same box with other options.
func (c *Client) With(options ...Option) *Client {
	return (*c.conn).with(options)
}

func (c connection) with(options []Option) *Client {
	for _, option := range options {
		option(&c)
	}
	g := group{&c}
	return &Client{
		Skills: &Skills{g}, Executions: &Executions{g}, Sandboxes: &Sandboxes{g}, Templates: &Templates{g}, Keys: &Keys{g}, SignIn: &SignIn{g},
		Tenants: &Tenants{g}, Credits: &Credits{g}, Secrets: &Secrets{g}, Events: &Events{g}, Webhooks: &Webhooks{g}, Host: &Host{g},
		Runtime: &Runtime{g}, Sessions: &Sessions{g}, conn: &c,
	}
}

// Run runs a skill and waits for its end, however it ends.
func (c *Client) Run(ctx context.Context, request RunRequest) (*Execution, error) {
	return c.Executions.Run(ctx, request)
}

// GetExecution reads one record.
func (c *Client) GetExecution(ctx context.Context, id string) (*Execution, error) {
	return c.Executions.Get(ctx, id)
}

// GetExecutionLogs reads what an execution wrote.
func (c *Client) GetExecutionLogs(ctx context.Context, id string) (string, error) {
	return c.Executions.Logs(ctx, id)
}

// DownloadFiles writes the artifacts of an execution under a folder, none of them outside.
func (c *Client) DownloadFiles(ctx context.Context, result *Execution, folder string) error {
	_, err := c.Executions.Download(ctx, result, folder)
	return err
}

// RegisterSkill adds a folder with SKILL.md, or a zip of one.
func (c *Client) RegisterSkill(ctx context.Context, path string) (*PushedSkill, error) {
	return c.Skills.PushFolder(ctx, path)
}

// ListSkills lists all skills, each in its latest version.
func (c *Client) ListSkills(ctx context.Context) ([]SkillSummary, error) {
	return c.Skills.All(ctx)
}

// GetSkill reads a skill with its instructions and schemas; version "" is the latest.
func (c *Client) GetSkill(ctx context.Context, name, version string) (*Skill, error) {
	return c.Skills.Get(ctx, name, version)
}

// Health tells whether the box is alive, and what it lacks.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	return ask[Health](ctx, c.conn, "GET /health", nil, send{})
}

// Ready tells whether the box can do its work; what it cannot is an answer, not an error.
func (c *Client) Ready(ctx context.Context) (*Readiness, error) {
	return ask[Readiness](ctx, c.conn, "GET /ready", nil, send{accept: http.StatusServiceUnavailable})
}

// Sandbox is one sandbox by its id; nothing is asked of the box yet.
func (c *Client) Sandbox(id string) *SandboxHandle {
	return newHandle(c.conn, id, nil)
}

// APIError is what a box answered instead of doing what was asked.
type APIError struct {
	StatusCode int
	// Stable; /openapi.json lists them.
	ErrorCode string
	Message   string
	// What can be done about it.
	Hint string
	// Finds the request in the log of the box.
	RequestID string
	Details   json.RawMessage
	// After which it may be tried again; 0 when the box did not say.
	RetryAfter time.Duration
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%s %s [%d %s, request %s]", e.Message, e.Hint, e.StatusCode, e.ErrorCode, e.RequestID)
}

// ClientError is what went wrong on this side: code unreachable, timed_out, usage, or what a sandbox said when it went away.
type ClientError struct {
	Code    string
	Message string
	Hint    string
	Err     error
	// Whether the connection is at fault, and another may do.
	broken bool
}

func (e *ClientError) Error() string {
	return strings.TrimSpace(e.Message + " " + e.Hint)
}

func (e *ClientError) Unwrap() error { return e.Err }

func usage(message, hint string, err error) error {
	return &ClientError{Code: "usage", Message: message, Hint: hint, Err: err}
}

// CodeOf is the stable code of an error of this package; "" for others.
func CodeOf(err error) string {
	var api *APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	var client *ClientError
	if errors.As(err, &client) {
		return client.Code
	}
	return ""
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// nil on the last page
	NextCursor *string `json:"next_cursor"`
}

// PageQuery asks for a page; the zero value for the first.
type PageQuery struct {
	Limit  int    `json:"limit,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

// HasFiles tells whether it made artifacts.
func (e *Execution) HasFiles() bool { return len(e.FilesList) > 0 }

// Finished tells whether it has ended.
func (e *Execution) Finished() bool { return IsFinal(e.Status) }

// IsFinal tells whether an execution in this status has ended.
func IsFinal(status string) bool { return status != "queued" && status != "running" }

// Records: made from the schemas of the box by make docs. Do not edit.

// ApiKey is a record of the box.
type ApiKey struct {
	// Id of the key (not the key)
	ID   string `json:"id"`
	Name string `json:"name"`
	// Tenant
	Tenant string `json:"tenant"`
	// Who acts: adm a person, agt an agent, atm automation
	// adm, agt, atm
	Actor  string   `json:"actor"`
	Scopes []string `json:"scopes"`
	// Time in ISO 8601, UTC
	CreatedAt string  `json:"created_at"`
	ExpiresAt *string `json:"expires_at"`
	RevokedAt *string `json:"revoked_at"`
	// Exact to a minute
	LastUsedAt *string `json:"last_used_at"`
	// The key that this one was signed in with, and ends with; null for one that was made
	Parent *string `json:"parent"`
}

// Artifact is a record of the box.
type Artifact struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// ArtifactStatus is a record of the box.
type ArtifactStatus struct {
	ID string `json:"id"`
	// Overlay that declares it; null: the box itself
	Client *string `json:"client"`
	// Empty: always
	Profiles []string `json:"profiles"`
	Required bool     `json:"required"`
	Notes    *string  `json:"notes"`
	// As the workspace sees it; the path of the host for what the workspace does not see
	Path     string `json:"path"`
	HostPath string `json:"host_path"`
	// present: there, with nothing to compare to
	// ok, missing, stale, present
	State string `json:"state"`
}

// Attention is a record of the box.
type Attention struct {
	// error, warning
	Severity string `json:"severity"`
	// What it is about, such as service:web
	Subject string `json:"subject"`
	Message string `json:"message"`
	// The command that mends it or shows more
	Fix *string `json:"fix"`
}

// GraphActionError is a record of the box.
type GraphActionError struct {
	Error   string `json:"error"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// GraphAction is a record of the box.
type GraphAction struct {
	Section json.RawMessage `json:"section"`
	ID      string          `json:"id"`
	// Such as clone, fetch, download, copy, write, install, mkdir, expire
	Action string `json:"action"`
	// done, unchanged, planned, skipped, failed
	Result string            `json:"result"`
	Path   *string           `json:"path"`
	Detail *string           `json:"detail"`
	Error  *GraphActionError `json:"error"`
}

// SyncReport is a record of the box.
type SyncReport struct {
	DryRun     bool          `json:"dry_run"`
	Changed    bool          `json:"changed"`
	Ok         bool          `json:"ok"`
	Actions    []GraphAction `json:"actions"`
	DurationMS float64       `json:"duration_ms"`
}

// TaskOutcomeError is a record of the box.
type TaskOutcomeError struct {
	Error   string `json:"error"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// TaskOutcome is a record of the box.
type TaskOutcome struct {
	ID string `json:"id"`
	// ready: it was; done: it ran and its check holds now
	// ready, done, failed, blocked, dry-run
	Result     string            `json:"result"`
	DurationMS float64           `json:"duration_ms"`
	Detail     *string           `json:"detail"`
	Error      *TaskOutcomeError `json:"error"`
	// Last lines of its log, where it failed
	Tail []string `json:"tail"`
}

// BootstrapReport is a record of the box.
type BootstrapReport struct {
	Ok    bool          `json:"ok"`
	Sync  SyncReport    `json:"sync"`
	Tasks []TaskOutcome `json:"tasks"`
}

// BoxModelRuntime is a record of the box.
type BoxModelRuntime struct {
	Mode      string `json:"mode"`
	AgentUser string `json:"agent_user"`
	Provider  string `json:"provider"`
	Network   string `json:"network"`
}

// BoxModelPath is a record of the box.
type BoxModelPath struct {
	Variable string `json:"variable"`
	Path     string `json:"path"`
	HostPath string `json:"host_path"`
}

// BoxModel is a record of the box.
type BoxModel struct {
	Name      string           `json:"name"`
	Version   string           `json:"version"`
	Purpose   *string          `json:"purpose"`
	Runtime   BoxModelRuntime  `json:"runtime"`
	Ports     map[string]int64 `json:"ports"`
	Paths     []BoxModelPath   `json:"paths"`
	Manifest  *string          `json:"manifest"`
	StateRoot string           `json:"state_root"`
	Clients   []string         `json:"clients"`
	// All that the manifest and the overlays name
	Profiles []string `json:"profiles"`
}

// BridgeStatusOutput is a record of the box.
type BridgeStatusOutput struct {
	// As the workspace sees it; the path of the host for what the workspace does not see
	Path     string `json:"path"`
	HostPath string `json:"host_path"`
	Present  bool   `json:"present"`
}

// BridgeStatus is a record of the box.
type BridgeStatus struct {
	ID string `json:"id"`
	// Overlay that declares it; null: the box itself
	Client *string `json:"client"`
	// Empty: always
	Profiles []string `json:"profiles"`
	Required bool     `json:"required"`
	Notes    *string  `json:"notes"`
	// fresh, stale, missing
	State   string               `json:"state"`
	Outputs []BridgeStatusOutput `json:"outputs"`
}

// CanaryRunStep is a record of the box.
type CanaryRunStep struct {
	// create, exec, destroy
	Step string  `json:"step"`
	MS   float64 `json:"ms"`
}

// CanaryRun is a record of the box.
type CanaryRun struct {
	// Time in ISO 8601, UTC
	Time string `json:"time"`
	Ok   bool   `json:"ok"`
	// How long each step took, as far as it came
	Steps []CanaryRunStep `json:"steps"`
	Error *string         `json:"error"`
}

// CheckStatus is a record of the box.
type CheckStatus struct {
	ID string `json:"id"`
	// Overlay that declares it; null: the box itself
	Client *string `json:"client"`
	// Empty: always
	Profiles []string `json:"profiles"`
	Required bool     `json:"required"`
	Notes    *string  `json:"notes"`
	// ok, fail
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// ContextReportFile is a record of the box.
type ContextReportFile struct {
	Path    string `json:"path"`
	Changed bool   `json:"changed"`
}

// ContextReport is a record of the box.
type ContextReport struct {
	Client *string             `json:"client"`
	Files  []ContextReportFile `json:"files"`
	Bytes  int64               `json:"bytes"`
}

// CreatedApiKey is a record of the box.
type CreatedApiKey struct {
	// Id of the key (not the key)
	ID   string `json:"id"`
	Name string `json:"name"`
	// Tenant
	Tenant string `json:"tenant"`
	// Who acts: adm a person, agt an agent, atm automation
	// adm, agt, atm
	Actor  string   `json:"actor"`
	Scopes []string `json:"scopes"`
	// Time in ISO 8601, UTC
	CreatedAt string  `json:"created_at"`
	ExpiresAt *string `json:"expires_at"`
	RevokedAt *string `json:"revoked_at"`
	// Exact to a minute
	LastUsedAt *string `json:"last_used_at"`
	// The key that this one was signed in with, and ends with; null for one that was made
	Parent *string `json:"parent"`
	// The key itself; shown this once
	Key string `json:"key"`
}

// CreatedWebhook is a record of the box.
type CreatedWebhook struct {
	// Name of the webhook
	Name string `json:"name"`
	// Whose events it gets; null: those of all tenants, as the manifest declares
	Tenant *string  `json:"tenant"`
	URL    string   `json:"url"`
	Events []string `json:"events"`
	// api, manifest
	Source string `json:"source"`
	// null for those of the manifest
	CreatedAt *string `json:"created_at"`
	// failing: the oldest delivery was refused; away: the hub does not answer, and is asked now and then
	// ok, failing, away
	State string `json:"state"`
	// Since when it fails or is away
	Since *string `json:"since"`
	// What the last failure was
	Error *string `json:"error"`
	// Deliveries that wait
	Pending int64 `json:"pending"`
	// Deliveries that were given up; skillbox webhook retry sends them again
	Dead int64 `json:"dead"`
	// Events of the box that were not looked at yet for this webhook
	EventsBehind int64 `json:"events_behind"`
	// Key that signs deliveries. It is in this answer and nowhere else
	Secret string `json:"secret"`
}

// CredentialRule is a record of the box.
type CredentialRule struct {
	Host string `json:"host"`
	// https, http
	Scheme string `json:"scheme"`
	Port   int64  `json:"port"`
	Header string `json:"header"`
	// Text of the header; ${secret} stands for the value of the secret
	Value string `json:"value"`
	// Name of a secret of the tenant; default/NAME is one of the operator
	Secret string `json:"secret"`
}

// CreditBalance is a record of the box.
type CreditBalance struct {
	// Tenant
	Tenant string `json:"tenant"`
	// What new sandboxes can be paid with
	Available float64 `json:"available"`
	// Set aside for sandboxes that live
	Held float64 `json:"held"`
	// Settled so far
	Spent float64 `json:"spent"`
	// available + held + spent
	Granted float64 `json:"granted"`
}

// CreditEntry is a record of the box.
type CreditEntry struct {
	// Order in the ledger
	Seq int64 `json:"seq"`
	// Time in ISO 8601, UTC
	Time string `json:"time"`
	// Tenant
	Tenant string `json:"tenant"`
	// grant: added; hold: set aside; settle: spent of what was held; release: held no longer
	// grant, hold, settle, release
	Kind    string  `json:"kind"`
	Amount  float64 `json:"amount"`
	Sandbox *string `json:"sandbox"`
	Note    *string `json:"note"`
	Actor   string  `json:"actor"`
}

// ServiceOutcomeError is a record of the box.
type ServiceOutcomeError struct {
	Error   string `json:"error"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// ServiceOutcome is a record of the box.
type ServiceOutcome struct {
	ID string `json:"id"`
	// started, already-running, failed, timeout, skipped, dry-run, stopped, killed, stuck, external, not-running
	Result     string               `json:"result"`
	PID        *int64               `json:"pid"`
	DurationMS float64              `json:"duration_ms"`
	Detail     *string              `json:"detail"`
	Error      *ServiceOutcomeError `json:"error"`
	// Last lines of its log, where it failed
	Tail []string `json:"tail"`
}

// DownReport is a record of the box.
type DownReport struct {
	Ok       bool             `json:"ok"`
	DryRun   bool             `json:"dry_run"`
	Services []ServiceOutcome `json:"services"`
}

// EnvFileStatus is a record of the box.
type EnvFileStatus struct {
	ID string `json:"id"`
	// Overlay that declares it; null: the box itself
	Client *string `json:"client"`
	// Empty: always
	Profiles []string `json:"profiles"`
	Required bool     `json:"required"`
	Notes    *string  `json:"notes"`
	// As the workspace sees it; the path of the host for what the workspace does not see
	Path     string  `json:"path"`
	HostPath string  `json:"host_path"`
	Repo     *string `json:"repo"`
	// ok, missing, stale, source-missing
	State string `json:"state"`
}

// EventActor is a record of the box. Who caused it.
type EventActor struct {
	// Who acts: adm a person, agt an agent, atm automation
	// adm, agt, atm
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// EventSubject is a record of the box. What it is about.
type EventSubject struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// Event is a record of the box.
type Event struct {
	// Position in the box; grows, may have gaps
	Seq int64 `json:"seq"`
	// Unique id
	ID string `json:"id"`
	// Time in ISO 8601, UTC
	Time string `json:"time"`
	// Tenant
	Tenant string `json:"tenant"`
	// Who caused it
	Actor EventActor `json:"actor"`
	// Host that recorded it
	Host string `json:"host"`
	// What it is about
	Subject EventSubject `json:"subject"`
	// What happened, such as execution.finished
	Type string `json:"type"`
	// The particulars
	Data map[string]json.RawMessage `json:"data"`
}

// ExecutionError is a record of the box.
type ExecutionError struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
}

// ExecutionTimings is a record of the box. Where the time went, in milliseconds to the microsecond; null for a phase that was not reached. What comes after the commit is in the header Server-Timing of the answer and in /metrics.
type ExecutionTimings struct {
	// Waiting for a slot, and for dependencies that are being installed
	Queue float64 `json:"queue"`
	// Finding the skill, checking the input, writing the row that accepts it
	Claim *float64 `json:"claim"`
	// Getting a sandbox: one that stood ready, or a new one until its program can start
	Sandbox *float64 `json:"sandbox"`
	// The program, from its job to its exit
	Run *float64 `json:"run"`
	// Fetching output and artifacts, storing them, checking the output
	Collect *float64 `json:"collect"`
	// Writing the end, up to its commit
	Record *float64 `json:"record"`
}

// Execution is a record of the box.
type Execution struct {
	// Id of the execution
	ExecutionID string `json:"execution_id"`
	// Name of the skill
	SkillName string `json:"skill_name"`
	// Semantic version of the skill
	SkillVersion string `json:"skill_version"`
	// Tenant
	TenantID string `json:"tenant_id"`
	// queued, running, success, failed, timeout, cancelled
	Status string          `json:"status"`
	Input  json.RawMessage `json:"input"`
	// What the skill wrote to SANDBOX_OUTPUT; null when it wrote nothing
	Output json.RawMessage `json:"output"`
	// stdout and stderr in order, cut with a mark when too long
	Logs      string     `json:"logs"`
	FilesList []Artifact `json:"files_list"`
	// Link to all artifacts as tar.gz, good for an hour without a key; made when read
	FilesURL *string         `json:"files_url"`
	Error    *ExecutionError `json:"error"`
	ExitCode *int64          `json:"exit_code"`
	Signal   *string         `json:"signal"`
	// Time spent waiting for a slot
	QueuedMS int64 `json:"queued_ms"`
	// Time of the run itself, without the queue
	DurationMS *int64 `json:"duration_ms"`
	// null until it has ended, and when the server that ran it is gone
	Timings *ExecutionTimings `json:"timings"`
	// Whether a sandbox that stood ready served it; null when it got none
	Warm            *bool   `json:"warm"`
	PeakMemoryBytes *int64  `json:"peak_memory_bytes"`
	CPUMS           *int64  `json:"cpu_ms"`
	Provider        *string `json:"provider"`
	Host            *string `json:"host"`
	// Time in ISO 8601, UTC
	CreatedAt  string  `json:"created_at"`
	StartedAt  *string `json:"started_at"`
	FinishedAt *string `json:"finished_at"`
}

// ExecutionEvent is a record of the box. event: stdout, stderr or status; id: its number, to be sent as Last-Event-ID to go on from there.
type ExecutionEvent struct {
	// Time in ISO 8601, UTC
	Time string `json:"time"`
	Text string `json:"text"`
}

// ExecutionFiguresPoint is a record of the box.
type ExecutionFiguresPoint struct {
	// Time in ISO 8601, UTC
	Time    string `json:"time"`
	Success int64  `json:"success"`
	Failed  int64  `json:"failed"`
	Other   int64  `json:"other"`
}

// Spread is a record of the box. In milliseconds.
type Spread struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// ExecutionFiguresPhase is a record of the box.
type ExecutionFiguresPhase struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	// queue, claim, sandbox, run, collect, record
	Phase string `json:"phase"`
}

// ExecutionFiguresError is a record of the box.
type ExecutionFiguresError struct {
	Code  string `json:"code"`
	Count int64  `json:"count"`
}

// ExecutionFiguresSkill is a record of the box.
type ExecutionFiguresSkill struct {
	// Name of the skill
	Skill  string  `json:"skill"`
	Runs   int64   `json:"runs"`
	Failed int64   `json:"failed"`
	Total  *Spread `json:"total"`
	// Time in ISO 8601, UTC
	LastAt string `json:"last_at"`
}

// ExecutionFigures is a record of the box.
type ExecutionFigures struct {
	// Time in ISO 8601, UTC
	Since string `json:"since"`
	// Time in ISO 8601, UTC
	Until string `json:"until"`
	// Length of a point in time
	StepSeconds int64 `json:"step_seconds"`
	// false: so much ran that only the newest part of the time was counted
	Complete bool `json:"complete"`
	// That run now
	Running int64 `json:"running"`
	// That wait now
	Queued int64 `json:"queued"`
	// By when they were created; failed includes timeout, other is cancelled or not ended; times without any are left out
	Points []ExecutionFiguresPoint `json:"points"`
	// The newest ones, of which the times below are
	Sampled int64 `json:"sampled"`
	// All phases together; null when none has ended
	Total *Spread `json:"total"`
	// Those that were reached
	Phases []ExecutionFiguresPhase `json:"phases"`
	// Share that a sandbox that stood ready served
	Warm *float64 `json:"warm"`
	// Most frequent first
	Errors []ExecutionFiguresError `json:"errors"`
	// Most used first
	Skills []ExecutionFiguresSkill `json:"skills"`
}

// ExecutionSummaryError is a record of the box.
type ExecutionSummaryError struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
}

// ExecutionSummary is a record of the box.
type ExecutionSummary struct {
	// Id of the execution
	ExecutionID string `json:"execution_id"`
	// Name of the skill
	SkillName string `json:"skill_name"`
	// Semantic version of the skill
	SkillVersion string `json:"skill_version"`
	// Tenant
	TenantID string `json:"tenant_id"`
	// queued, running, success, failed, timeout, cancelled
	Status   string                 `json:"status"`
	Error    *ExecutionSummaryError `json:"error"`
	ExitCode *int64                 `json:"exit_code"`
	Signal   *string                `json:"signal"`
	// Time spent waiting for a slot
	QueuedMS int64 `json:"queued_ms"`
	// Time of the run itself, without the queue
	DurationMS *int64 `json:"duration_ms"`
	// null until it has ended, and when the server that ran it is gone
	Timings *ExecutionTimings `json:"timings"`
	// Whether a sandbox that stood ready served it; null when it got none
	Warm            *bool   `json:"warm"`
	PeakMemoryBytes *int64  `json:"peak_memory_bytes"`
	CPUMS           *int64  `json:"cpu_ms"`
	Provider        *string `json:"provider"`
	Host            *string `json:"host"`
	// Time in ISO 8601, UTC
	CreatedAt  string  `json:"created_at"`
	StartedAt  *string `json:"started_at"`
	FinishedAt *string `json:"finished_at"`
}

// FileEntry is a record of the box.
type FileEntry struct {
	Path string `json:"path"`
	// file, directory, symlink, other
	Kind string `json:"kind"`
	Size int64  `json:"size"`
	Mode int64  `json:"mode"`
	// Time in ISO 8601, UTC
	ModifiedAt string  `json:"modified_at"`
	Target     *string `json:"target,omitempty"`
}

// FocusReportStep is a record of the box.
type FocusReportStep struct {
	// sync, bootstrap, up, collect, context, persist
	Step string `json:"step"`
	// done, unchanged, failed, skipped
	Result     string  `json:"result"`
	DurationMS float64 `json:"duration_ms"`
	Detail     *string `json:"detail"`
}

// ServiceStatus is a record of the box.
type ServiceStatus struct {
	ID string `json:"id"`
	// Overlay that declares it; null: the box itself
	Client *string `json:"client"`
	// Empty: always
	Profiles []string `json:"profiles"`
	Required bool     `json:"required"`
	Notes    *string  `json:"notes"`
	Kind     string   `json:"kind"`
	// running: its process lives and its health holds; starting: lives, health not yet; down: was started and is gone or unhealthy; declared: never started or stopped; ok: managed elsewhere and healthy; idle: nothing to run; unknown: managed elsewhere, no way to tell
	// running, starting, down, declared, ok, idle, unknown
	State string `json:"state"`
	// up asked for it and down did not since: pulse keeps it alive
	Wanted bool   `json:"wanted"`
	PID    *int64 `json:"pid"`
	// Sandbox it runs in; null: on the host
	Sandbox *string `json:"sandbox"`
	// null: no healthcheck, or nothing runs
	Healthy *bool `json:"healthy"`
	// reuse, prod, fresh
	Mode *string `json:"mode"`
	// Those it supports
	Modes     []string `json:"modes"`
	DependsOn []string `json:"depends_on"`
	StartedAt *string  `json:"started_at"`
	// By pulse, since it was last started by hand
	Restarts int64 `json:"restarts"`
	// Path of its log on the host
	Log *string `json:"log"`
	// Why it is not well
	Detail *string `json:"detail"`
}

// RepoState is a record of the box.
type RepoState struct {
	ID         string  `json:"id"`
	Path       string  `json:"path"`
	Branch     *string `json:"branch"`
	Dirty      *int64  `json:"dirty"`
	LastCommit *string `json:"last_commit"`
}

// FocusReportError is a record of the box.
type FocusReportError struct {
	Log  string `json:"log"`
	Line string `json:"line"`
}

// RuntimeActivity is a record of the box.
type RuntimeActivity struct {
	// Time in ISO 8601, UTC
	Time    string                     `json:"time"`
	Type    string                     `json:"type"`
	Subject string                     `json:"subject"`
	Data    map[string]json.RawMessage `json:"data"`
}

// FocusReport is a record of the box.
type FocusReport struct {
	Ok       bool     `json:"ok"`
	Client   string   `json:"client"`
	Profiles []string `json:"profiles"`
	Resumed  bool     `json:"resumed"`
	// Time in ISO 8601, UTC
	FocusedAt string            `json:"focused_at"`
	Steps     []FocusReportStep `json:"steps"`
	Attention []Attention       `json:"attention"`
	Services  []ServiceStatus   `json:"services"`
	Repos     []RepoState       `json:"repos"`
	// Of late, from logs
	Errors   []FocusReportError `json:"errors"`
	Activity []RuntimeActivity  `json:"activity"`
	// Those that are open
	Sessions []string `json:"sessions"`
	// Files that agents read
	Context []string `json:"context"`
}

// GraphCheck is a record of the box.
type GraphCheck struct {
	Name string `json:"name"`
	// Of the registry of errors
	Code *string `json:"code"`
	// ok, warn, fail
	State  string  `json:"state"`
	Detail string  `json:"detail"`
	Fix    *string `json:"fix"`
}

// GraphExamination is a record of the box.
type GraphExamination struct {
	Healthy bool         `json:"healthy"`
	Checks  []GraphCheck `json:"checks"`
}

// Health is a record of the box.
type Health struct {
	// degraded: the box runs, and something an operator accepted or should mend is missing
	// ok, degraded
	Status  string `json:"status"`
	Version string `json:"version"`
	Host    string `json:"host"`
	// Layers of the sandbox this host lacks and the manifest accepts
	MissingLayers []string `json:"missing_layers"`
}

// HostCheck is a record of the box.
type HostCheck struct {
	Name string `json:"name"`
	// missing: the box cannot do its work; warn: it can, but look at it
	// ok, warn, missing
	State  string `json:"state"`
	Detail string `json:"detail"`
	// The line that mends it
	Fix *string `json:"fix,omitempty"`
}

// HostExamination is a record of the box.
type HostExamination struct {
	// Nothing is missing
	Healthy bool        `json:"healthy"`
	Checks  []HostCheck `json:"checks"`
}

// HostReportMemory is a record of the box.
type HostReportMemory struct {
	TotalBytes int64 `json:"total_bytes"`
	FreeBytes  int64 `json:"free_bytes"`
}

// HostReportDisk is a record of the box. Where the state root is.
type HostReportDisk struct {
	TotalBytes int64 `json:"total_bytes"`
	FreeBytes  int64 `json:"free_bytes"`
}

// HostReportWarmExecutions is a record of the box. For runs of skills.
type HostReportWarmExecutions struct {
	// That stand ready now
	Ready int64 `json:"ready"`
	// That the demand of late asks for
	Wanted      int64 `json:"wanted"`
	Pools       int64 `json:"pools"`
	MemoryBytes int64 `json:"memory_bytes"`
	// Since the start
	Served int64 `json:"served"`
	// Since the start: none was ready
	Missed int64 `json:"missed"`
}

// HostReportWarmSandboxesTemplate is a record of the box.
type HostReportWarmSandboxesTemplate struct {
	Template string `json:"template"`
	// That stand ready now
	Ready int64 `json:"ready"`
	// That the demand of late asks for
	Wanted int64 `json:"wanted"`
}

// HostReportWarmSandboxes is a record of the box. For creates of living sandboxes.
type HostReportWarmSandboxes struct {
	// That stand ready now
	Ready int64 `json:"ready"`
	// That the demand of late asks for
	Wanted      int64 `json:"wanted"`
	Pools       int64 `json:"pools"`
	MemoryBytes int64 `json:"memory_bytes"`
	// Since the start
	Served int64 `json:"served"`
	// Since the start: none was ready
	Missed    int64                             `json:"missed"`
	Templates []HostReportWarmSandboxesTemplate `json:"templates"`
}

// HostReportWarm is a record of the box. Sandboxes made ready ahead.
type HostReportWarm struct {
	// SKILLBOX_WARM_MEMORY, for both
	BudgetBytes int64 `json:"budget_bytes"`
	// For runs of skills
	Executions HostReportWarmExecutions `json:"executions"`
	// For creates of living sandboxes
	Sandboxes HostReportWarmSandboxes `json:"sandboxes"`
}

// HostReportProvider is a record of the box.
type HostReportProvider struct {
	Name    string `json:"name"`
	Tier    string `json:"tier"`
	Healthy bool   `json:"healthy"`
	Detail  string `json:"detail"`
}

// Webhook is a record of the box.
type Webhook struct {
	// Name of the webhook
	Name string `json:"name"`
	// Whose events it gets; null: those of all tenants, as the manifest declares
	Tenant *string  `json:"tenant"`
	URL    string   `json:"url"`
	Events []string `json:"events"`
	// api, manifest
	Source string `json:"source"`
	// null for those of the manifest
	CreatedAt *string `json:"created_at"`
	// failing: the oldest delivery was refused; away: the hub does not answer, and is asked now and then
	// ok, failing, away
	State string `json:"state"`
	// Since when it fails or is away
	Since *string `json:"since"`
	// What the last failure was
	Error *string `json:"error"`
	// Deliveries that wait
	Pending int64 `json:"pending"`
	// Deliveries that were given up; skillbox webhook retry sends them again
	Dead int64 `json:"dead"`
	// Events of the box that were not looked at yet for this webhook
	EventsBehind int64 `json:"events_behind"`
}

// HostReport is a record of the box.
type HostReport struct {
	Host    string `json:"host"`
	Version string `json:"version"`
	CPUs    int64  `json:"cpus"`
	// Share of all processors that was busy in the last seconds
	CPUUsed float64 `json:"cpu_used"`
	// Programs that ran or wanted to, over 1, 5 and 15 minutes
	Load   []float64        `json:"load"`
	Memory HostReportMemory `json:"memory"`
	// Where the state root is
	Disk HostReportDisk `json:"disk"`
	// Of this host, by state
	Sandboxes map[string]int64 `json:"sandboxes"`
	// Sandboxes made ready ahead
	Warm      HostReportWarm       `json:"warm"`
	Providers []HostReportProvider `json:"providers"`
	// The last run here; null before the first
	Canary *CanaryRun `json:"canary"`
	// Those of the box whose hub refuses or does not answer, or that gave up deliveries
	Webhooks []Webhook `json:"webhooks"`
}

// LastFocusStep is a record of the box.
type LastFocusStep struct {
	// sync, bootstrap, up, collect, context, persist
	Step string `json:"step"`
	// done, unchanged, failed, skipped
	Result     string  `json:"result"`
	DurationMS float64 `json:"duration_ms"`
	Detail     *string `json:"detail"`
}

// LastFocusError is a record of the box.
type LastFocusError struct {
	Log  string `json:"log"`
	Line string `json:"line"`
}

// LastFocus is a record of the box.
type LastFocus struct {
	Ok     bool   `json:"ok"`
	Client string `json:"client"`
	// As they were asked for, core aside
	Profiles []string `json:"profiles"`
	// Those that were named; empty: all
	Services []string `json:"services"`
	// reuse: with the local state there is; prod: the way that is backed by production; fresh: from a reset
	// reuse, prod, fresh
	Mode string `json:"mode"`
	// Time in ISO 8601, UTC
	FocusedAt string          `json:"focused_at"`
	Steps     []LastFocusStep `json:"steps"`
	Repos     []RepoState     `json:"repos"`
	// Of late, from logs
	Errors   []LastFocusError  `json:"errors"`
	Activity []RuntimeActivity `json:"activity"`
	// Those that are open
	Sessions []string `json:"sessions"`
	// Files that agents read
	Context []string `json:"context"`
}

// LedgerEntry is a record of the box.
type LedgerEntry struct {
	LegacySurface string  `json:"legacy_surface"`
	Client        *string `json:"client"`
	// service, env_target, helper, flag
	SurfaceType string `json:"surface_type"`
	// declare, bridge, build, drop
	Action string `json:"action"`
	// covered, bridge-only, deferred, external
	OwnershipState   string   `json:"ownership_state"`
	IntendedProfiles []string `json:"intended_profiles"`
	BridgeDependency *string  `json:"bridge_dependency"`
	RequestError     *string  `json:"request_error"`
}

// LintFinding is a record of the box.
type LintFinding struct {
	// error, warning
	Severity string `json:"severity"`
	Code     string `json:"code"`
	File     string `json:"file"`
	Line     int64  `json:"line"`
	Message  string `json:"message"`
	Fix      string `json:"fix"`
}

// LogStatus is a record of the box.
type LogStatus struct {
	ID string `json:"id"`
	// Overlay that declares it; null: the box itself
	Client *string `json:"client"`
	// Empty: always
	Profiles []string `json:"profiles"`
	Required bool     `json:"required"`
	Notes    *string  `json:"notes"`
	// As the workspace sees it; the path of the host for what the workspace does not see
	Path          string   `json:"path"`
	HostPath      string   `json:"host_path"`
	RetentionDays *float64 `json:"retention_days"`
	// ok, missing
	State string `json:"state"`
	Bytes int64  `json:"bytes"`
}

// PreviewLink is a record of the box.
type PreviewLink struct {
	URL string `json:"url"`
	// Time in ISO 8601, UTC
	ExpiresAt string `json:"expires_at"`
}

// Program is a record of the box.
type Program struct {
	ProgramID int64    `json:"program_id"`
	PID       int64    `json:"pid"`
	Argv      []string `json:"argv"`
	Cwd       string   `json:"cwd"`
	Tag       string   `json:"tag"`
	// Time in ISO 8601, UTC
	StartedAt string  `json:"started_at"`
	Ended     bool    `json:"ended"`
	ExitCode  *int64  `json:"exit_code"`
	Signal    *string `json:"signal"`
	// Number of its last output so far
	LastEvent int64 `json:"last_event"`
}

// ProgramEvent is a record of the box. event: stdout or stderr with text or base64, pty with base64, lost when output before a number is gone, end with exit_code and signal, error when the sandbox went away; id: to be sent as Last-Event-ID to go on from there.
type ProgramEvent struct {
	Text     *string `json:"text,omitempty"`
	Base64   *string `json:"base64,omitempty"`
	Before   *int64  `json:"before,omitempty"`
	ExitCode *int64  `json:"exit_code,omitempty"`
	Signal   *string `json:"signal,omitempty"`
	Error    *string `json:"error,omitempty"`
	Message  *string `json:"message,omitempty"`
}

// ProgramResult is a record of the box.
type ProgramResult struct {
	ProgramID int64   `json:"program_id"`
	PID       int64   `json:"pid"`
	Ended     bool    `json:"ended"`
	ExitCode  *int64  `json:"exit_code"`
	Signal    *string `json:"signal"`
	// What a terminal shows, for a program that has one
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	TimedOut bool   `json:"timed_out"`
}

// PulseStatus is a record of the box.
type PulseStatus struct {
	Running   bool    `json:"running"`
	PID       *int64  `json:"pid"`
	UpdatedAt *string `json:"updated_at"`
	// Seconds between two whole looks; a process that ends is seen at once
	Interval      float64           `json:"interval"`
	AutoRestart   bool              `json:"auto_restart"`
	CycleCount    int64             `json:"cycle_count"`
	Heals         int64             `json:"heals"`
	EventsEmitted int64             `json:"events_emitted"`
	ConfigHash    *string           `json:"config_hash"`
	ServiceStates map[string]string `json:"service_states"`
	CheckStates   map[string]string `json:"check_states"`
	// Services that fell too often; up or restart tries them again
	GivenUp []string `json:"given_up"`
	// Services that wait for their next start
	NextAttempts map[string]string `json:"next_attempts"`
}

// SkillDependencies is a record of the box.
type SkillDependencies struct {
	// python: requirements.txt; node: package.json with its lock file
	// python, node
	Kind string `json:"kind"`
	// building, available or failed; not_built: not with the interpreter this host has now, the next run or build starts it
	// not_built, building, available, failed
	State string `json:"state"`
	// Why it failed, in one line; the build log has the rest
	Error *string `json:"error"`
	// Unpacked bytes
	SizeBytes  *int64  `json:"size_bytes"`
	Files      *int64  `json:"files"`
	StartedAt  *string `json:"started_at"`
	FinishedAt *string `json:"finished_at"`
}

// PushedSkillResources is a record of the box.
type PushedSkillResources struct {
	CPU         *float64 `json:"cpu"`
	MemoryBytes *int64   `json:"memory_bytes"`
}

// SkillFile is a record of the box.
type SkillFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// PushedSkill is a record of the box.
type PushedSkill struct {
	// Name of the skill
	Name string `json:"name"`
	// Semantic version of the skill
	Version     string `json:"version"`
	Description string `json:"description"`
	// executable: has an entrypoint; cognitive: instructions only
	// executable, cognitive
	Mode string `json:"mode"`
	// python, node, bash
	Lang *string `json:"lang"`
	// Time in ISO 8601, UTC
	CreatedAt string `json:"created_at"`
	// null when it declares none
	Dependencies *SkillDependencies `json:"dependencies"`
	// Path of the program inside the skill
	Entrypoint *string              `json:"entrypoint"`
	Image      *string              `json:"image"`
	TimeoutMS  *int64               `json:"timeout_ms"`
	Resources  PushedSkillResources `json:"resources"`
	// Modules that are imported before a job comes
	Preload      []string                   `json:"preload"`
	Env          map[string]string          `json:"env"`
	InputSchema  map[string]json.RawMessage `json:"input_schema"`
	OutputSchema map[string]json.RawMessage `json:"output_schema"`
	License      *string                    `json:"license"`
	Metadata     map[string]json.RawMessage `json:"metadata"`
	// The Markdown body of SKILL.md
	Instructions string `json:"instructions"`
	// SHA-256 over the paths, modes and contents of its files
	Digest string `json:"digest"`
	// Unpacked bytes
	Size  int64       `json:"size"`
	Files []SkillFile `json:"files"`
	// false when exactly this content was there already
	Created  bool          `json:"created"`
	Warnings []LintFinding `json:"warnings"`
}

// Readiness is a record of the box.
type Readiness struct {
	// ok, unavailable
	Status string `json:"status"`
	// ok, or what is wrong
	Checks map[string]string `json:"checks"`
}

// RenderedGraphWhy is a record of the box.
type RenderedGraphWhy struct {
	// Such as services.web.command
	Path string `json:"path"`
	File string `json:"file"`
	Line int64  `json:"line"`
}

// RenderedGraph is a record of the box.
type RenderedGraph struct {
	Client   *string  `json:"client"`
	Profiles []string `json:"profiles"`
	// Sections with their items, placeholders filled in
	Graph map[string]json.RawMessage `json:"graph"`
	// What ${NAME} stands for; secrets are never among them
	Variables map[string]string `json:"variables"`
	// With why: the file and line of each value
	Why []RenderedGraphWhy `json:"why"`
}

// RepoStatus is a record of the box.
type RepoStatus struct {
	ID string `json:"id"`
	// Overlay that declares it; null: the box itself
	Client *string `json:"client"`
	// Empty: always
	Profiles []string `json:"profiles"`
	Required bool     `json:"required"`
	Notes    *string  `json:"notes"`
	// As the workspace sees it; the path of the host for what the workspace does not see
	Path     string `json:"path"`
	HostPath string `json:"host_path"`
	// bind, directory, git, manual
	Source string `json:"source"`
	// dirty: local changes; behind: the last sync fetched more
	// ok, missing, dirty, behind, unknown
	State  string  `json:"state"`
	Branch *string `json:"branch"`
	Commit *string `json:"commit"`
	// Why its state is unknown
	Detail *string `json:"detail"`
}

// RouteExplanationRoute is a record of the box.
type RouteExplanationRoute struct {
	Provider string `json:"provider"`
	Taken    bool   `json:"taken"`
	Reason   string `json:"reason"`
}

// RouteExplanation is a record of the box.
type RouteExplanation struct {
	// Exactly what would be made: name@version
	Template     string  `json:"template"`
	PricePerHour float64 `json:"price_per_hour"`
	// Candidates in order; taken: this one would make it now
	Route []RouteExplanationRoute `json:"route"`
}

// SkillSetStatusSkill is a record of the box.
type SkillSetStatusSkill struct {
	Name string `json:"name"`
	// ok, not-installed, stale, extra
	State  string  `json:"state"`
	Commit *string `json:"commit"`
}

// SkillSetStatus is a record of the box.
type SkillSetStatus struct {
	ID string `json:"id"`
	// Overlay that declares it; null: the box itself
	Client *string `json:"client"`
	// Empty: always
	Profiles []string `json:"profiles"`
	Required bool     `json:"required"`
	Notes    *string  `json:"notes"`
	// ok, missing, stale, invalid
	State  string                `json:"state"`
	Skills []SkillSetStatusSkill `json:"skills"`
	Detail *string               `json:"detail"`
}

// TaskStatus is a record of the box.
type TaskStatus struct {
	ID string `json:"id"`
	// Overlay that declares it; null: the box itself
	Client *string `json:"client"`
	// Empty: always
	Profiles []string `json:"profiles"`
	Required bool     `json:"required"`
	Notes    *string  `json:"notes"`
	// ready: its success check holds
	// ready, pending, blocked
	State     string   `json:"state"`
	DependsOn []string `json:"depends_on"`
	BlockedBy []string `json:"blocked_by"`
}

// RuntimeStatus is a record of the box.
type RuntimeStatus struct {
	Client   *string  `json:"client"`
	Profiles []string `json:"profiles"`
	// Overlays there are
	Clients []string `json:"clients"`
	// Nothing needs attention
	Healthy      bool             `json:"healthy"`
	ConfigHash   string           `json:"config_hash"`
	Repos        []RepoStatus     `json:"repos"`
	Artifacts    []ArtifactStatus `json:"artifacts"`
	EnvFiles     []EnvFileStatus  `json:"env_files"`
	Skills       []SkillSetStatus `json:"skills"`
	Tasks        []TaskStatus     `json:"tasks"`
	Services     []ServiceStatus  `json:"services"`
	Logs         []LogStatus      `json:"logs"`
	Checks       []CheckStatus    `json:"checks"`
	Bridges      []BridgeStatus   `json:"bridges"`
	ParityLedger []LedgerEntry    `json:"parity_ledger"`
	Connectors   []string         `json:"connectors"`
	Pulse        PulseStatus      `json:"pulse"`
	// What was focused last, whichever client is selected, and what was found then; null: nothing yet
	Focus     *LastFocus  `json:"focus"`
	Attention []Attention `json:"attention"`
}

// SandboxOrigin is a record of the box.
type SandboxOrigin struct {
	// Id of the sandbox
	Sandbox string `json:"sandbox"`
	// null: it was forked
	Snapshot *string `json:"snapshot"`
}

// SandboxLimits is a record of the box.
type SandboxLimits struct {
	MemoryBytes int64   `json:"memory_bytes"`
	CPU         float64 `json:"cpu"`
	Processes   int64   `json:"processes"`
	DiskBytes   int64   `json:"disk_bytes"`
}

// SandboxRoute is a record of the box.
type SandboxRoute struct {
	Provider string `json:"provider"`
	Taken    bool   `json:"taken"`
	Reason   string `json:"reason"`
}

// SandboxEndpoint is a record of the box.
type SandboxEndpoint struct {
	Service string `json:"service"`
	// Its number for previews
	Port int64 `json:"port"`
	// Path of the box that leads to it
	Preview string `json:"preview"`
	// A line for the shell of who may log in to its host, that reaches it without the box
	Tunnel *string `json:"tunnel"`
}

// Sandbox is a record of the box.
type Sandbox struct {
	// Id of the sandbox
	ID string `json:"id"`
	// Tenant
	Tenant string `json:"tenant"`
	// requested, provisioning, ready, paused, destroying, destroyed, failed
	State string `json:"state"`
	// Exactly what it was made from: name@version
	Template string  `json:"template"`
	Provider *string `json:"provider"`
	// How strong the walls of its provider are
	Tier *string `json:"tier"`
	// Host that owns it
	Host string `json:"host"`
	// Whose disk it began with; null: that of its template
	Origin *SandboxOrigin `json:"origin"`
	// Names and values of your own
	Labels map[string]string `json:"labels"`
	// none, allow, full
	Network string `json:"network"`
	// What it reaches with network allow
	NetworkAllow []json.RawMessage `json:"network_allow"`
	Limits       SandboxLimits     `json:"limits"`
	// What happens when nothing uses it for idle_ms
	// destroy, pause, keep
	OnIdle string `json:"on_idle"`
	IdleMS *int64 `json:"idle_ms"`
	// destroy, pause
	OnExpiry string `json:"on_expiry"`
	// Time in ISO 8601, UTC
	CreatedAt string  `json:"created_at"`
	ReadyAt   *string `json:"ready_at"`
	ExpiresAt *string `json:"expires_at"`
	EndedAt   *string `json:"ended_at"`
	// Why it is in this state
	Reason *string `json:"reason"`
	// Why it is paused: somebody asked, nothing used it, or its time was over
	// asked, idle, expired
	PauseCause *string `json:"pause_cause"`
	// Why each candidate was taken or passed over
	Route []SandboxRoute `json:"route"`
	// Servers that are in it from the start
	Endpoints []SandboxEndpoint `json:"endpoints"`
}

// SandboxUsage is a record of the box.
type SandboxUsage struct {
	// Time in ISO 8601, UTC
	Time string `json:"time"`
	// CPU time since it was last started
	CPUMS            float64 `json:"cpu_ms"`
	MemoryBytes      int64   `json:"memory_bytes"`
	MemoryLimitBytes int64   `json:"memory_limit_bytes"`
	DiskBytes        int64   `json:"disk_bytes"`
	DiskLimitBytes   int64   `json:"disk_limit_bytes"`
	Processes        int64   `json:"processes"`
}

// SandboxMetrics is a record of the box.
type SandboxMetrics struct {
	Now     SandboxUsage   `json:"now"`
	History []SandboxUsage `json:"history"`
}

// Secret is a record of the box.
type Secret struct {
	// Name of the secret
	Name string `json:"name"`
	// Time in ISO 8601, UTC
	CreatedAt string `json:"created_at"`
	// When its value was set last
	UpdatedAt string `json:"updated_at"`
	// Who set it: kind and id of the key
	UpdatedBy string `json:"updated_by"`
}

// ServiceLog is a record of the box.
type ServiceLog struct {
	Service string   `json:"service"`
	Path    string   `json:"path"`
	Lines   []string `json:"lines"`
}

// ServiceLogLine is a record of the box.
type ServiceLogLine struct {
	Service string `json:"service"`
	Line    string `json:"line"`
}

// ServiceLogs is a record of the box.
type ServiceLogs struct {
	Items []ServiceLog `json:"items"`
}

// SessionEvent is a record of the box.
type SessionEvent struct {
	// Time in ISO 8601, UTC
	Ts       string `json:"ts"`
	Type     string `json:"type"`
	ClientID string `json:"client_id"`
	// Id of the session
	SessionID string                     `json:"session_id"`
	Detail    map[string]json.RawMessage `json:"detail"`
}

// SignInLink is a record of the box.
type SignInLink struct {
	// Good once; exchanged for a key at /v1/sign-in
	Code string `json:"code"`
	// The dashboard, with the code behind the #, where no server and no log sees it
	URL string `json:"url"`
	// Time in ISO 8601, UTC
	ExpiresAt string `json:"expires_at"`
}

// SkillResources is a record of the box.
type SkillResources struct {
	CPU         *float64 `json:"cpu"`
	MemoryBytes *int64   `json:"memory_bytes"`
}

// Skill is a record of the box.
type Skill struct {
	// Name of the skill
	Name string `json:"name"`
	// Semantic version of the skill
	Version     string `json:"version"`
	Description string `json:"description"`
	// executable: has an entrypoint; cognitive: instructions only
	// executable, cognitive
	Mode string `json:"mode"`
	// python, node, bash
	Lang *string `json:"lang"`
	// Time in ISO 8601, UTC
	CreatedAt string `json:"created_at"`
	// null when it declares none
	Dependencies *SkillDependencies `json:"dependencies"`
	// Path of the program inside the skill
	Entrypoint *string        `json:"entrypoint"`
	Image      *string        `json:"image"`
	TimeoutMS  *int64         `json:"timeout_ms"`
	Resources  SkillResources `json:"resources"`
	// Modules that are imported before a job comes
	Preload      []string                   `json:"preload"`
	Env          map[string]string          `json:"env"`
	InputSchema  map[string]json.RawMessage `json:"input_schema"`
	OutputSchema map[string]json.RawMessage `json:"output_schema"`
	License      *string                    `json:"license"`
	Metadata     map[string]json.RawMessage `json:"metadata"`
	// The Markdown body of SKILL.md
	Instructions string `json:"instructions"`
	// SHA-256 over the paths, modes and contents of its files
	Digest string `json:"digest"`
	// Unpacked bytes
	Size  int64       `json:"size"`
	Files []SkillFile `json:"files"`
}

// SkillSummary is a record of the box.
type SkillSummary struct {
	// Name of the skill
	Name string `json:"name"`
	// Semantic version of the skill
	Version     string `json:"version"`
	Description string `json:"description"`
	// executable: has an entrypoint; cognitive: instructions only
	// executable, cognitive
	Mode string `json:"mode"`
	// python, node, bash
	Lang *string `json:"lang"`
	// Time in ISO 8601, UTC
	CreatedAt string `json:"created_at"`
	// null when it declares none
	Dependencies *SkillDependencies `json:"dependencies"`
}

// Snapshot is a record of the box.
type Snapshot struct {
	// Id of the snapshot
	ID string `json:"id"`
	// Id of the sandbox
	Sandbox  string  `json:"sandbox"`
	Name     *string `json:"name"`
	Template string  `json:"template"`
	// Time in ISO 8601, UTC
	CreatedAt string `json:"created_at"`
}

// StaleSandbox is a record of the box.
type StaleSandbox struct {
	Sandbox  string  `json:"sandbox"`
	Provider *string `json:"provider"`
	// orphan: no living record owns it; expired: its time is over; unfinished: a server stopped while it was made or ended
	// orphan, expired, unfinished
	Why    string `json:"why"`
	Reaped bool   `json:"reaped"`
}

// TemplateResources is a record of the box.
type TemplateResources struct {
	CPU         float64 `json:"cpu"`
	MemoryBytes int64   `json:"memory_bytes"`
	DiskBytes   int64   `json:"disk_bytes"`
	Processes   int64   `json:"processes"`
	TmpBytes    int64   `json:"tmp_bytes"`
}

// TemplateNetwork is a record of the box.
type TemplateNetwork struct {
	// none, allow, full
	Mode        string            `json:"mode"`
	Allow       []json.RawMessage `json:"allow"`
	Credentials []CredentialRule  `json:"credentials,omitempty"`
	// Whether it trusts the box, which looks into TLS where a rule needs it
	Tls *bool `json:"tls,omitempty"`
	// What it finds at http://box.internal
	Internal []string `json:"internal,omitempty"`
}

// TemplateTtl is a record of the box.
type TemplateTtl struct {
	DefaultMS int64 `json:"default_ms"`
	MaxMS     int64 `json:"max_ms"`
}

// TemplateIdle is a record of the box.
type TemplateIdle struct {
	// destroy, pause, keep
	Action  string `json:"action"`
	AfterMS *int64 `json:"after_ms"`
}

// Template is a record of the box.
type Template struct {
	Name        string `json:"name"`
	Version     int64  `json:"version"`
	Description string `json:"description"`
	// Candidates, in order
	Providers []string          `json:"providers"`
	Image     *string           `json:"image"`
	Resources TemplateResources `json:"resources"`
	Network   TemplateNetwork   `json:"network"`
	TTL       TemplateTtl       `json:"ttl"`
	Idle      TemplateIdle      `json:"idle"`
	Placement []string          `json:"placement"`
	// Commands run once, before it is ready
	Setup []string `json:"setup"`
	// JSON Schema of the inputs
	Inputs       map[string]json.RawMessage `json:"inputs"`
	PricePerHour float64                    `json:"price_per_hour"`
	// Names and values of your own
	Labels    map[string]string `json:"labels"`
	AdminOnly bool              `json:"admin_only"`
	// What its provider wants to know
	Options map[string]json.RawMessage `json:"options"`
	// built-in, manifest, api
	Source string `json:"source"`
}

// TenantLimits is a record of the box.
type TenantLimits struct {
	// Requests allowed per second, with bursts of twice that
	RequestsPerSecond float64 `json:"requests_per_second"`
	// Executions that may run at once
	Slots int64 `json:"slots"`
	// Bytes of skills, artifacts and logs the tenant may keep
	StorageBytes int64 `json:"storage_bytes"`
}

// Tenant is a record of the box.
type Tenant struct {
	// Tenant
	Name             string       `json:"name"`
	Limits           TenantLimits `json:"limits"`
	StorageUsedBytes int64        `json:"storage_used_bytes"`
	// true when the manifest declares it; then it is read-only here
	Declared bool `json:"declared"`
}

// UpReport is a record of the box.
type UpReport struct {
	Ok     bool `json:"ok"`
	DryRun bool `json:"dry_run"`
	// reuse: with the local state there is; prod: the way that is backed by production; fresh: from a reset
	// reuse, prod, fresh
	Mode     string           `json:"mode"`
	Sync     SyncReport       `json:"sync"`
	Tasks    []TaskOutcome    `json:"tasks"`
	Services []ServiceOutcome `json:"services"`
	// Where the box answers
	URL          *string `json:"url"`
	AdminKeyFile *string `json:"admin_key_file"`
}

// WatchEvent is a record of the box. event: create, write, remove, rename or attributes.
type WatchEvent struct {
	// Relative to the watched folder
	Path string `json:"path"`
}

// WebhookDeliverySubject is a record of the box.
type WebhookDeliverySubject struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// WebhookDelivery is a record of the box.
type WebhookDelivery struct {
	// The webhook-id of the delivery, the same at every attempt
	EventID string `json:"event_id"`
	// Position of the event in the box
	Seq     int64                  `json:"seq"`
	Type    string                 `json:"type"`
	Subject WebhookDeliverySubject `json:"subject"`
	// pending, delivered, dead
	State    string `json:"state"`
	Attempts int64  `json:"attempts"`
	// HTTP status of the last answer; null when there was none
	Status *int64  `json:"status"`
	Error  *string `json:"error"`
	// null when it is over, or when it comes as soon as those before it
	NextAttemptAt *string `json:"next_attempt_at"`
	FinishedAt    *string `json:"finished_at"`
}

// WebhookRetry is a record of the box.
type WebhookRetry struct {
	Retried int64 `json:"retried"`
}

// WebhookTest is a record of the box.
type WebhookTest struct {
	Ok bool `json:"ok"`
	// HTTP status of the answer; null when there was none
	Status *int64  `json:"status"`
	Error  *string `json:"error"`
	MS     float64 `json:"ms"`
}

// WorkStep is a record of the box.
type WorkStep struct {
	// Such as sync, run site or start web; the same from its beginning to its end
	Name string `json:"name"`
	// phase: what the others are parts of
	// phase, sync, bridge, task, service
	Kind string `json:"kind"`
	// running, done, unchanged, planned, skipped, failed
	State string `json:"state"`
	// null: not known, or not over
	DurationMS *float64 `json:"duration_ms"`
	// Why it failed, or what there is to say
	Detail *string `json:"detail"`
	// Last lines of its log, where it failed
	Tail []string `json:"tail"`
}

// WorkProgress is a record of the box.
type WorkProgress struct {
	// Time in ISO 8601, UTC
	Time string `json:"time"`
	// One line about what goes on now
	Text string `json:"text"`
	// A part of the work that began or ended; null: only the line is new
	Step *WorkStep `json:"step"`
}

// WorkSession is a record of the box.
type WorkSession struct {
	// Id of the session
	SessionID string  `json:"session_id"`
	ClientID  string  `json:"client_id"`
	Label     *string `json:"label"`
	Goal      *string `json:"goal"`
	// active, completed, failed, abandoned
	State string `json:"state"`
	// Time in ISO 8601, UTC
	StartedAt string `json:"started_at"`
	// Time in ISO 8601, UTC
	UpdatedAt string  `json:"updated_at"`
	EndedAt   *string `json:"ended_at"`
	// How often
	Resumed int64 `json:"resumed"`
	Events  int64 `json:"events"`
	// Active, but nobody was heard of for an hour
	Stale   bool    `json:"stale"`
	Summary *string `json:"summary"`
	// Folder with meta.json, events.jsonl and handoff.md
	Path string `json:"path"`
}

// WorkSessionDetail is a record of the box.
type WorkSessionDetail struct {
	// Id of the session
	SessionID string  `json:"session_id"`
	ClientID  string  `json:"client_id"`
	Label     *string `json:"label"`
	Goal      *string `json:"goal"`
	// active, completed, failed, abandoned
	State string `json:"state"`
	// Time in ISO 8601, UTC
	StartedAt string `json:"started_at"`
	// Time in ISO 8601, UTC
	UpdatedAt string  `json:"updated_at"`
	EndedAt   *string `json:"ended_at"`
	// How often
	Resumed int64 `json:"resumed"`
	Events  int64 `json:"events"`
	// Active, but nobody was heard of for an hour
	Stale   bool    `json:"stale"`
	Summary *string `json:"summary"`
	// Folder with meta.json, events.jsonl and handoff.md
	Path     string         `json:"path"`
	Timeline []SessionEvent `json:"timeline"`
	Handoff  *string        `json:"handoff"`
}

// WorkSessions is a record of the box.
type WorkSessions struct {
	Items []WorkSession `json:"items"`
}

// End of the records.

// Groups -----------------------------------------------------------------------------------------------------------------------

type group struct{ conn *connection }

type fields map[string]any

// Skills of the tenant.
type Skills struct{ group }

// List gives one page: each skill in its latest version.
func (s *Skills) List(ctx context.Context, query PageQuery) (*Page[SkillSummary], error) {
	return ask[Page[SkillSummary]](ctx, s.conn, "GET /v1/skills", query, send{})
}

// All of them, each in its latest version.
func (s *Skills) All(ctx context.Context) ([]SkillSummary, error) {
	return every(func(cursor string) (*Page[SkillSummary], error) { return s.List(ctx, PageQuery{500, cursor}) })
}

// Search finds skills by words in name, description and instructions; limit 0 is the box's own.
func (s *Skills) Search(ctx context.Context, words string, limit int) (*Page[SkillSummary], error) {
	query := struct {
		Words string `json:"q"`
		Limit int    `json:"limit,omitempty"`
	}{words, limit}
	return ask[Page[SkillSummary]](ctx, s.conn, "GET /v1/skills/search", query, send{})
}

// Get reads a skill with its instructions and schemas; version "" is the latest.
func (s *Skills) Get(ctx context.Context, name, version string) (*Skill, error) {
	return ask[Skill](ctx, s.conn, "GET /v1/skills/{name}/{version}", fields{"name": name, "version": orLatest(version)}, send{})
}

// Versions, highest first.
func (s *Skills) Versions(ctx context.Context, name string) (*Page[SkillSummary], error) {
	return ask[Page[SkillSummary]](ctx, s.conn, "GET /v1/skills/{name}/versions", fields{"name": name}, send{})
}

// Push adds a zip with SKILL.md at its root or one folder down. The same content again changes nothing.
func (s *Skills) Push(ctx context.Context, archive io.Reader) (*PushedSkill, error) {
	return ask[PushedSkill](ctx, s.conn, "POST /v1/skills", nil, send{body: archive, contentType: "application/zip"})
}

// PushFiles adds paths and contents, SKILL.md among them.
func (s *Skills) PushFiles(ctx context.Context, files map[string][]byte) (*PushedSkill, error) {
	list := make([]packedFile, 0, len(files))
	for path, data := range files {
		list = append(list, packedFile{path, data, false})
	}
	return s.pushPacked(ctx, list)
}

// PushFolder adds a folder with SKILL.md, or a zip of one, on the disk.
func (s *Skills) PushFolder(ctx context.Context, path string) (*PushedSkill, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage("There is nothing at "+path+".", "Name the folder that has SKILL.md in it, or a zip of it.", err)
	}
	if info.IsDir() {
		files, err := filesIn(path)
		if err != nil {
			return nil, err
		}
		return s.pushPacked(ctx, files)
	}
	archive, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return s.Push(ctx, bytes.NewReader(archive))
}

func (s *Skills) pushPacked(ctx context.Context, files []packedFile) (*PushedSkill, error) {
	archive, err := pack(files)
	if err != nil {
		return nil, err
	}
	return s.Push(ctx, bytes.NewReader(archive))
}

// File is the content of one of its files, as it was pushed; its record lists them.
func (s *Skills) File(ctx context.Context, name, version, path string) ([]byte, error) {
	input := fields{"name": name, "version": orLatest(version), "path": path}
	return readAll(s.conn.open(ctx, "GET /v1/skills/{name}/{version}/files/{path}", input, send{}))
}

// Delete one version; records of its executions stay.
func (s *Skills) Delete(ctx context.Context, name, version string) error {
	return tell(ctx, s.conn, "DELETE /v1/skills/{name}/{version}", fields{"name": name, "version": version}, send{})
}

// Build installs its dependencies, once more if that failed; answers at once.
func (s *Skills) Build(ctx context.Context, name, version string) (*SkillDependencies, error) {
	input := fields{"name": name, "version": orLatest(version)}
	return ask[SkillDependencies](ctx, s.conn, "POST /v1/skills/{name}/{version}/build", input, send{})
}

// BuildLog is what the installer said.
func (s *Skills) BuildLog(ctx context.Context, name, version string) (string, error) {
	return text(ctx, s.conn, "GET /v1/skills/{name}/{version}/build", fields{"name": name, "version": orLatest(version)})
}

func orLatest(version string) string {
	if version == "" {
		return "latest"
	}
	return version
}

// RunRequest asks for a run of a skill.
type RunRequest struct {
	Skill string `json:"skill"`
	// Default: the latest
	Version string `json:"version,omitempty"`
	// Any JSON; the skill finds it in /sandbox/input.json and SANDBOX_INPUT. Default: {}
	Input json.RawMessage   `json:"input,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
	// Paths and contents that the skill finds under SANDBOX_INPUT_DIR
	Files map[string][]byte `json:"files,omitempty"`
	// Limit of the run itself, such as 90s
	Timeout string `json:"timeout,omitempty"`
	// The same request under the same key runs once. Default: a new one
	IdempotencyKey string `json:"-"`
}

// Executions of the tenant.
type Executions struct{ group }

// Run runs a skill and waits for its end, however it ends. It is sent under an Idempotency-Key, so that a retry never runs it twice.
// A context that ends gives up the waiting only: to stop an execution, Submit and Cancel it.
func (e *Executions) Run(ctx context.Context, request RunRequest) (*Execution, error) {
	record, err := e.create(ctx, request, true)
	if err != nil || record.Finished() {
		return record, err
	}
	return e.Wait(ctx, record.ExecutionID)
}

// Submit starts a run and answers at once.
func (e *Executions) Submit(ctx context.Context, request RunRequest) (*Execution, error) {
	return e.create(ctx, request, false)
}

func (e *Executions) create(ctx context.Context, request RunRequest, wait bool) (*Execution, error) {
	key := request.IdempotencyKey
	if key == "" {
		key = newKey()
	}
	body := struct {
		RunRequest
		Wait bool `json:"wait"`
	}{request, wait}
	return ask[Execution](ctx, e.conn, "POST /v1/executions", body, send{idempotencyKey: key, waits: wait})
}

// Wait gives its record, once it has ended.
func (e *Executions) Wait(ctx context.Context, id string) (*Execution, error) {
	stream := e.Stream(ctx, id, "")
	defer stream.Close()
	for stream.Next() {
	}
	if stream.Err() != nil {
		return nil, stream.Err()
	}
	return e.Get(ctx, id)
}

// Stream gives stdout, stderr and status from the beginning, or after lastEventID, until it has ended; it goes on by itself where a
// connection broke.
func (e *Executions) Stream(ctx context.Context, id, lastEventID string) *Stream[ExecutionEvent] {
	isLast := func(event ServerEvent[ExecutionEvent]) bool {
		return event.Event == "status" && IsFinal(event.Data.Text)
	}
	return follow(ctx, e.conn, "GET /v1/executions/{id}/events", fields{"id": id}, isLast, lastEventID)
}

// ExecutionQuery chooses executions.
type ExecutionQuery struct {
	Skill  string `json:"skill,omitempty"`
	Status string `json:"status,omitempty"`
	// Time in ISO 8601, UTC
	Since  string `json:"since,omitempty"`
	Tenant string `json:"tenant,omitempty"`
	PageQuery
}

// List, newest first.
func (e *Executions) List(ctx context.Context, query ExecutionQuery) (*Page[ExecutionSummary], error) {
	return ask[Page[ExecutionSummary]](ctx, e.conn, "GET /v1/executions", query, send{})
}

// All of them, newest first; for very many, read page by page with List.
func (e *Executions) All(ctx context.Context, query ExecutionQuery) ([]ExecutionSummary, error) {
	return every(func(cursor string) (*Page[ExecutionSummary], error) {
		query.PageQuery = PageQuery{500, cursor}
		return e.List(ctx, query)
	})
}

// Figures tell how they did of late: how many, how they ended, where their time went. window is 15m, 1h, 6h or 24h; "" for 1h and all skills.
func (e *Executions) Figures(ctx context.Context, window, skill string) (*ExecutionFigures, error) {
	query := struct {
		Window string `json:"window,omitempty"`
		Skill  string `json:"skill,omitempty"`
	}{window, skill}
	return ask[ExecutionFigures](ctx, e.conn, "GET /v1/executions/figures", query, send{})
}

// Get reads one record.
func (e *Executions) Get(ctx context.Context, id string) (*Execution, error) {
	return ask[Execution](ctx, e.conn, "GET /v1/executions/{id}", fields{"id": id}, send{})
}

// Logs is what it wrote.
func (e *Executions) Logs(ctx context.Context, id string) (string, error) {
	return text(ctx, e.conn, "GET /v1/executions/{id}/logs", fields{"id": id})
}

// Cancel ends its whole process tree, or takes it out of the queue.
func (e *Executions) Cancel(ctx context.Context, id string) (*Execution, error) {
	return ask[Execution](ctx, e.conn, "POST /v1/executions/{id}/cancel", fields{"id": id}, send{})
}

// Delete it with its log and artifacts.
func (e *Executions) Delete(ctx context.Context, id string) error {
	return tell(ctx, e.conn, "DELETE /v1/executions/{id}", fields{"id": id}, send{})
}

// Files are its artifacts.
func (e *Executions) Files(ctx context.Context, id string) (*Page[Artifact], error) {
	return ask[Page[Artifact]](ctx, e.conn, "GET /v1/executions/{id}/files", fields{"id": id}, send{})
}

// File is the content of one artifact.
func (e *Executions) File(ctx context.Context, id, path string) ([]byte, error) {
	return readAll(e.OpenFile(ctx, id, path))
}

// OpenFile gives one artifact as it comes.
func (e *Executions) OpenFile(ctx context.Context, id, path string) (io.ReadCloser, error) {
	return e.conn.open(ctx, "GET /v1/executions/{id}/files/{path}", fields{"id": id, "path": path}, send{})
}

// Archive gives all artifacts, as a tar.gz.
func (e *Executions) Archive(ctx context.Context, id string) ([]byte, error) {
	return readAll(e.conn.open(ctx, "GET /v1/executions/{id}/files.tar.gz", fields{"id": id}, send{}))
}

// Download writes its artifacts under a folder, none of them outside; gives the paths written.
func (e *Executions) Download(ctx context.Context, execution *Execution, folder string) ([]string, error) {
	return writeArtifacts(execution.FilesList, folder, func(path string) (io.ReadCloser, error) {
		return e.OpenFile(ctx, execution.ExecutionID, path)
	})
}

// CreateSandbox asks for a sandbox; the zero value for the canary.
type CreateSandbox struct {
	Template string            `json:"template,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	// Such as 2h
	TTL string `json:"ttl,omitempty"`
	// destroy or pause
	OnExpiry string         `json:"on_expiry,omitempty"`
	Snapshot string         `json:"snapshot,omitempty"`
	Network  *NetworkChange `json:"network,omitempty"`
	Inputs   map[string]any `json:"inputs,omitempty"`
}

// NetworkChange says what a sandbox reaches.
type NetworkChange struct {
	// none or allow
	Mode string `json:"mode,omitempty"`
	// Hosts, such as example.com or *.example.com:8443
	Allow []any `json:"allow,omitempty"`
}

// Sandboxes of the tenant.
type Sandboxes struct{ group }

// Create answers when it is ready.
func (s *Sandboxes) Create(ctx context.Context, request CreateSandbox) (*SandboxHandle, error) {
	record, err := ask[Sandbox](ctx, s.conn, "POST /v1/sandboxes", request, send{waits: true})
	if err != nil {
		return nil, err
	}
	return newHandle(s.conn, record.ID, record), nil
}

// SandboxQuery chooses sandboxes.
type SandboxQuery struct {
	State    string
	Template string
	Labels   map[string]string
	Tenant   string
	PageQuery
}

// List, newest first.
func (s *Sandboxes) List(ctx context.Context, query SandboxQuery) (*Page[Sandbox], error) {
	labels := url.Values{}
	for name, value := range query.Labels {
		labels.Set(name, value)
	}
	input := struct {
		State    string `json:"state,omitempty"`
		Template string `json:"template,omitempty"`
		Labels   string `json:"labels,omitempty"`
		Tenant   string `json:"tenant,omitempty"`
		PageQuery
	}{query.State, query.Template, labels.Encode(), query.Tenant, query.PageQuery}
	return ask[Page[Sandbox]](ctx, s.conn, "GET /v1/sandboxes", input, send{})
}

// All of them, newest first.
func (s *Sandboxes) All(ctx context.Context, query SandboxQuery) ([]Sandbox, error) {
	return every(func(cursor string) (*Page[Sandbox], error) {
		query.PageQuery = PageQuery{500, cursor}
		return s.List(ctx, query)
	})
}

// Snapshots, newest first; sandbox "" for those of all.
func (s *Sandboxes) Snapshots(ctx context.Context, sandbox string, query PageQuery) (*Page[Snapshot], error) {
	input := struct {
		Sandbox string `json:"sandbox,omitempty"`
		PageQuery
	}{sandbox, query}
	return ask[Page[Snapshot]](ctx, s.conn, "GET /v1/snapshots", input, send{})
}

// DeleteSnapshot deletes one; sandboxes that were made from it keep what they have.
func (s *Sandboxes) DeleteSnapshot(ctx context.Context, id string) error {
	return tell(ctx, s.conn, "DELETE /v1/snapshots/{id}", fields{"id": id}, send{})
}

// SandboxHandle is one living sandbox, by its id.
type SandboxHandle struct {
	ID string
	// As it was when it was made; nil for a handle of one that was there.
	Record *Sandbox
	Files  *SandboxFiles
	conn   *connection
}

func newHandle(conn *connection, id string, record *Sandbox) *SandboxHandle {
	return &SandboxHandle{id, record, &SandboxFiles{group{conn}, id}, conn}
}

// Get reads its record.
func (s *SandboxHandle) Get(ctx context.Context) (*Sandbox, error) {
	return ask[Sandbox](ctx, s.conn, "GET /v1/sandboxes/{id}", fields{"id": s.ID}, send{})
}

// Destroy ends it and removes its disk. What is destroyed already stays so.
func (s *SandboxHandle) Destroy(ctx context.Context) (*Sandbox, error) {
	return ask[Sandbox](ctx, s.conn, "DELETE /v1/sandboxes/{id}", fields{"id": s.ID}, send{})
}

// Recreate gives it a fresh disk under the same id.
func (s *SandboxHandle) Recreate(ctx context.Context) (*Sandbox, error) {
	return ask[Sandbox](ctx, s.conn, "POST /v1/sandboxes/{id}/recreate", fields{"id": s.ID}, send{})
}

// SetTTL sets the time until it ends, from now, such as 2h.
func (s *SandboxHandle) SetTTL(ctx context.Context, ttl string) (*Sandbox, error) {
	return ask[Sandbox](ctx, s.conn, "POST /v1/sandboxes/{id}/ttl", fields{"id": s.ID, "ttl": ttl}, send{})
}

// SetNetwork changes what it reaches, while it lives; the zero value is what its template says.
func (s *SandboxHandle) SetNetwork(ctx context.Context, change NetworkChange) (*Sandbox, error) {
	input := struct {
		ID string `json:"id"`
		NetworkChange
	}{s.ID, change}
	return ask[Sandbox](ctx, s.conn, "PUT /v1/sandboxes/{id}/network", input, send{})
}

// Pause frees its memory and keeps its disk; the next use resumes it.
func (s *SandboxHandle) Pause(ctx context.Context) (*Sandbox, error) {
	return ask[Sandbox](ctx, s.conn, "POST /v1/sandboxes/{id}/pause", fields{"id": s.ID}, send{})
}

// Resume makes it ready again.
func (s *SandboxHandle) Resume(ctx context.Context) (*Sandbox, error) {
	return ask[Sandbox](ctx, s.conn, "POST /v1/sandboxes/{id}/resume", fields{"id": s.ID}, send{})
}

// Snapshot keeps its disk as it is now; name may be "".
func (s *SandboxHandle) Snapshot(ctx context.Context, name string) (*Snapshot, error) {
	input := struct {
		ID   string `json:"id"`
		Name string `json:"name,omitempty"`
	}{s.ID, name}
	return ask[Snapshot](ctx, s.conn, "POST /v1/sandboxes/{id}/snapshots", input, send{})
}

// Restore puts the disk of a snapshot into it.
func (s *SandboxHandle) Restore(ctx context.Context, snapshot string) (*Sandbox, error) {
	return ask[Sandbox](ctx, s.conn, "POST /v1/sandboxes/{id}/restore", fields{"id": s.ID, "snapshot": snapshot}, send{})
}

// Fork makes sandboxes that start from its disk: all of them or none. ttl "" is as this one had.
func (s *SandboxHandle) Fork(ctx context.Context, count int, ttl string) ([]*SandboxHandle, error) {
	input := struct {
		ID    string `json:"id"`
		Count int    `json:"count,omitempty"`
		TTL   string `json:"ttl,omitempty"`
	}{s.ID, count, ttl}
	page, err := ask[Page[Sandbox]](ctx, s.conn, "POST /v1/sandboxes/{id}/fork", input, send{})
	if err != nil {
		return nil, err
	}
	handles := make([]*SandboxHandle, len(page.Items))
	for i := range page.Items {
		handles[i] = newHandle(s.conn, page.Items[i].ID, &page.Items[i])
	}
	return handles, nil
}

// Events tell what happened to it, oldest first.
func (s *SandboxHandle) Events(ctx context.Context, query PageQuery) (*Page[Event], error) {
	input := struct {
		ID string `json:"id"`
		PageQuery
	}{s.ID, query}
	return ask[Page[Event]](ctx, s.conn, "GET /v1/sandboxes/{id}/events", input, send{})
}

// AllEvents tell what happened to it, oldest first.
func (s *SandboxHandle) AllEvents(ctx context.Context) ([]Event, error) {
	return every(func(cursor string) (*Page[Event], error) { return s.Events(ctx, PageQuery{500, cursor}) })
}

// Metrics tell what it uses, now and of late.
func (s *SandboxHandle) Metrics(ctx context.Context) (*SandboxMetrics, error) {
	return ask[SandboxMetrics](ctx, s.conn, "GET /v1/sandboxes/{id}/metrics", fields{"id": s.ID}, send{})
}

// PreviewLink makes a link to a server that listens in it, good for an hour without a key.
func (s *SandboxHandle) PreviewLink(ctx context.Context, port int) (*PreviewLink, error) {
	return ask[PreviewLink](ctx, s.conn, "POST /v1/sandboxes/{id}/ports/{port}/link", fields{"id": s.ID, "port": port}, send{})
}

// ExecRequest is a program for a sandbox: Cmd, a line for bash, or Argv, words.
type ExecRequest struct {
	Cmd  string
	Argv []string
	Env  map[string]string
	Cwd  string
	// Text that it reads
	Stdin string
	// Keeps its stdin open for Write
	OpenStdin bool
	// Gives it a terminal
	Pty *PtySize
	// Such as 90s; then it is killed
	Timeout string
	// A name of your own
	Tag string
	// Output as it is written
	OnStdout, OnStderr func(text string)
}

// PtySize is the size of a terminal.
type PtySize struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// ExecResult tells how a program ended, and what it wrote.
type ExecResult struct {
	ProgramID int64   `json:"program_id"`
	PID       int64   `json:"pid"`
	Ended     bool    `json:"ended"`
	ExitCode  *int64  `json:"exit_code"`
	Signal    *string `json:"signal"`
	Stdout    string  `json:"stdout"`
	Stderr    string  `json:"stderr"`
	// nil when the output was streamed: then nobody knows.
	TimedOut *bool `json:"timed_out"`
}

// Exec runs a program and waits for the end. With OnStdout or OnStderr the output also comes as it is written.
func (s *SandboxHandle) Exec(ctx context.Context, request ExecRequest) (*ExecResult, error) {
	if request.OnStdout != nil || request.OnStderr != nil {
		program, err := s.Start(ctx, request)
		if err != nil {
			return nil, err
		}
		return program.Wait(ctx, request.OnStdout, request.OnStderr)
	}
	return ask[ExecResult](ctx, s.conn, "POST /v1/sandboxes/{id}/programs", s.program(request, true), send{waits: true})
}

// Start starts a program, which goes on whether or not anybody listens.
func (s *SandboxHandle) Start(ctx context.Context, request ExecRequest) (*ProgramHandle, error) {
	result, err := ask[ExecResult](ctx, s.conn, "POST /v1/sandboxes/{id}/programs", s.program(request, false), send{})
	if err != nil {
		return nil, err
	}
	return &ProgramHandle{s.ID, result.ProgramID, result.PID, s.conn}, nil
}

func (s *SandboxHandle) program(request ExecRequest, wait bool) fields {
	input := fields{"id": s.ID, "wait": wait}
	set := func(name string, given bool, value any) {
		if given {
			input[name] = value
		}
	}
	set("cmd", request.Cmd != "", request.Cmd)
	set("argv", len(request.Argv) > 0, request.Argv)
	set("env", len(request.Env) > 0, request.Env)
	set("cwd", request.Cwd != "", request.Cwd)
	set("stdin", request.OpenStdin, true)
	set("stdin", request.Stdin != "", request.Stdin)
	set("pty", request.Pty != nil, request.Pty)
	set("timeout", request.Timeout != "", request.Timeout)
	set("tag", request.Tag != "", request.Tag)
	return input
}

// Programs lists those it has, and those that ended.
func (s *SandboxHandle) Programs(ctx context.Context) ([]Program, error) {
	page, err := ask[Page[Program]](ctx, s.conn, "GET /v1/sandboxes/{id}/programs", fields{"id": s.ID}, send{})
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// Program is one that was started before.
func (s *SandboxHandle) Program(program int64) *ProgramHandle {
	return &ProgramHandle{s.ID, program, 0, s.conn}
}

// ProgramHandle is a program in a sandbox: followed, fed, signalled.
type ProgramHandle struct {
	Sandbox string
	Program int64
	// Known to whoever started it
	PID  int64
	conn *connection
}

func (p *ProgramHandle) which(more fields) fields {
	input := fields{"id": p.Sandbox, "program": p.Program}
	for name, value := range more {
		input[name] = value
	}
	return input
}

// Get reads its record.
func (p *ProgramHandle) Get(ctx context.Context) (*Program, error) {
	return ask[Program](ctx, p.conn, "GET /v1/sandboxes/{id}/programs/{program}", p.which(nil), send{})
}

// OutputQuery says how output is read; the zero value is text, from the beginning to the end.
type OutputQuery struct {
	// text or base64, which holds every byte that a program writes
	Encoding string
	// End with what there is so far
	SoFar       bool
	LastEventID string
}

// Output gives stdout and stderr with text or base64, pty with base64, lost, and end with exit_code and signal; it goes on by itself
// where a connection broke.
func (p *ProgramHandle) Output(ctx context.Context, query OutputQuery) *Stream[ProgramEvent] {
	input := p.which(nil)
	if query.Encoding != "" {
		input["encoding"] = query.Encoding
	}
	if query.SoFar {
		input["follow"] = false
	}
	isLast := func(event ServerEvent[ProgramEvent]) bool { return event.Event == "end" }
	stream := follow(ctx, p.conn, "GET /v1/sandboxes/{id}/programs/{program}/events", input, isLast, query.LastEventID)
	stream.once = query.SoFar
	return stream
}

// Wait gives its output and how it ended. The listeners may be nil.
func (p *ProgramHandle) Wait(ctx context.Context, onStdout, onStderr func(text string)) (*ExecResult, error) {
	stream := p.Output(ctx, OutputQuery{})
	defer stream.Close()
	var stdout, stderr strings.Builder
	var held []byte
	for stream.Next() {
		event := stream.Event()
		if event.Event == "end" {
			return &ExecResult{p.Program, p.PID, true, event.Data.ExitCode, event.Data.Signal, stdout.String(), stderr.String(), nil}, nil
		}
		said, err := textOf(event.Data, &held)
		if err != nil {
			return nil, err
		}
		into, listener := &stdout, onStdout
		if event.Event == "stderr" {
			into, listener = &stderr, onStderr
		}
		into.WriteString(said)
		if listener != nil && said != "" {
			listener(said)
		}
	}
	if stream.Err() != nil {
		return nil, stream.Err()
	}
	return nil, &ClientError{Code: "sandbox_failed", Message: "The output ended before the program."}
}

// textOf holds back the beginning of a character whose rest comes with the next event.
func textOf(data ProgramEvent, held *[]byte) (string, error) {
	if data.Text != nil {
		return *data.Text, nil
	}
	if data.Base64 == nil {
		return "", nil
	}
	more, err := base64.StdEncoding.DecodeString(*data.Base64)
	if err != nil {
		return "", err
	}
	whole := append(*held, more...)
	end := len(whole)
	for back := 1; back <= utf8.UTFMax && back <= len(whole); back++ {
		if utf8.RuneStart(whole[len(whole)-back]) {
			if !utf8.FullRune(whole[len(whole)-back:]) {
				end = len(whole) - back
			}
			break
		}
	}
	*held = append([]byte(nil), whole[end:]...)
	return strings.ToValidUTF8(string(whole[:end]), "\uFFFD"), nil
}

// Write gives its stdin bytes; start it with OpenStdin.
func (p *ProgramHandle) Write(ctx context.Context, data io.Reader) error {
	return tell(ctx, p.conn, "POST /v1/sandboxes/{id}/programs/{program}/stdin", p.which(nil), send{body: data})
}

// CloseStdin ends its stdin.
func (p *ProgramHandle) CloseStdin(ctx context.Context) error {
	return tell(ctx, p.conn, "DELETE /v1/sandboxes/{id}/programs/{program}/stdin", p.which(nil), send{})
}

// Kill sends a signal to it and what it started; "" is SIGTERM.
func (p *ProgramHandle) Kill(ctx context.Context, signal string) error {
	if signal == "" {
		signal = "SIGTERM"
	}
	return tell(ctx, p.conn, "POST /v1/sandboxes/{id}/programs/{program}/signal", p.which(fields{"signal": signal}), send{})
}

// Resize its terminal.
func (p *ProgramHandle) Resize(ctx context.Context, cols, rows int) error {
	return tell(ctx, p.conn, "POST /v1/sandboxes/{id}/programs/{program}/resize", p.which(fields{"cols": cols, "rows": rows}), send{})
}

// SandboxFiles are the files of one sandbox. A relative path starts at /home/user.
type SandboxFiles struct {
	group
	id string
}

// ReadRange is a part of a file; the zero value is all of it.
type ReadRange struct {
	Offset int64 `json:"offset,omitempty"`
	Limit  int64 `json:"limit,omitempty"`
}

// Read a file.
func (f *SandboxFiles) Read(ctx context.Context, path string) ([]byte, error) {
	return readAll(f.Open(ctx, path, ReadRange{}))
}

// Open gives it as it comes, of any size.
func (f *SandboxFiles) Open(ctx context.Context, path string, part ReadRange) (io.ReadCloser, error) {
	input := struct {
		ID   string `json:"id"`
		Path string `json:"path"`
		ReadRange
	}{f.id, path, part}
	return f.conn.open(ctx, "GET /v1/sandboxes/{id}/files", input, send{})
}

// WriteOptions say how a file is written.
type WriteOptions struct {
	// Octal digits such as 755
	Mode string `json:"mode,omitempty"`
	// Add to what is there
	Append bool `json:"append,omitempty"`
	// Fail when there is something already
	New bool `json:"new,omitempty"`
}

// Write a file: it appears whole or not at all; folders on the way are made.
func (f *SandboxFiles) Write(ctx context.Context, path string, content io.Reader, options WriteOptions) (*FileEntry, error) {
	input := struct {
		ID   string `json:"id"`
		Path string `json:"path"`
		WriteOptions
	}{f.id, path, options}
	return ask[FileEntry](ctx, f.conn, "PUT /v1/sandboxes/{id}/files", input, send{body: content})
}

// Stat tells what a path is.
func (f *SandboxFiles) Stat(ctx context.Context, path string) (*FileEntry, error) {
	return ask[FileEntry](ctx, f.conn, "GET /v1/sandboxes/{id}/files/stat", fields{"id": f.id, "path": path}, send{})
}

// ListQuery says what of a folder is listed.
type ListQuery struct {
	// Folders in folders, this deep. Default: 1
	Depth int `json:"depth,omitempty"`
	Limit int `json:"limit,omitempty"`
}

// List a folder; "" is the home folder.
func (f *SandboxFiles) List(ctx context.Context, path string, query ListQuery) ([]FileEntry, error) {
	input := struct {
		ID   string `json:"id"`
		Path string `json:"path,omitempty"`
		ListQuery
	}{f.id, path, query}
	page, err := ask[Page[FileEntry]](ctx, f.conn, "GET /v1/sandboxes/{id}/files/list", input, send{})
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// MakeDir makes a folder.
func (f *SandboxFiles) MakeDir(ctx context.Context, path string) (*FileEntry, error) {
	return ask[FileEntry](ctx, f.conn, "POST /v1/sandboxes/{id}/files/mkdir", fields{"id": f.id, "path": path}, send{})
}

// Move or rename.
func (f *SandboxFiles) Move(ctx context.Context, from, to string) (*FileEntry, error) {
	return ask[FileEntry](ctx, f.conn, "POST /v1/sandboxes/{id}/files/move", fields{"id": f.id, "from": from, "to": to}, send{})
}

// Remove a file, or a folder with everything in it.
func (f *SandboxFiles) Remove(ctx context.Context, path string) error {
	return tell(ctx, f.conn, "DELETE /v1/sandboxes/{id}/files", fields{"id": f.id, "path": path}, send{})
}

// Watch gives create, write, remove, rename and attributes from now on, until it is closed; "" is the home folder. What a broken
// connection missed is gone: then it ends with an error.
func (f *SandboxFiles) Watch(ctx context.Context, path string, recursive bool) (*Stream[WatchEvent], error) {
	input := struct {
		ID        string `json:"id"`
		Path      string `json:"path,omitempty"`
		Recursive bool   `json:"recursive,omitempty"`
	}{f.id, path, recursive}
	never := func(ServerEvent[WatchEvent]) bool { return false }
	stream := follow(ctx, f.conn, "GET /v1/sandboxes/{id}/files/watch", input, never, "")
	stream.fragile = true
	// Opened before the first event is asked for: what happens from now on is seen.
	if err := stream.connect(); err != nil {
		stream.Close()
		return nil, err
	}
	return stream, nil
}

// Templates of sandboxes.
type Templates struct{ group }

// List gives the newest version of each.
func (t *Templates) List(ctx context.Context) (*Page[Template], error) {
	return ask[Page[Template]](ctx, t.conn, "GET /v1/templates", nil, send{})
}

// Get one; name@version is that version.
func (t *Templates) Get(ctx context.Context, name string) (*Template, error) {
	return ask[Template](ctx, t.conn, "GET /v1/templates/{name}", fields{"name": name}, send{})
}

// Apply makes it, or a new version of it. docs/templates.md has the fields.
func (t *Templates) Apply(ctx context.Context, name string, definition map[string]any) (*Template, error) {
	input := fields{}
	for field, value := range definition {
		input[field] = value
	}
	input["name"] = name
	return ask[Template](ctx, t.conn, "PUT /v1/templates/{name}", input, send{})
}

// Explain tells which provider would make a sandbox of it now, and why not the others.
func (t *Templates) Explain(ctx context.Context, name string) (*RouteExplanation, error) {
	return ask[RouteExplanation](ctx, t.conn, "GET /v1/templates/{name}/route", fields{"name": name}, send{})
}

// Keys of the box.
type Keys struct{ group }

// CreateKey asks for a key.
type CreateKey struct {
	Name   string `json:"name"`
	Tenant string `json:"tenant,omitempty"`
	// adm, agt or atm
	Actor  string   `json:"actor,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
	// Such as 24h
	ExpiresIn string `json:"expires_in,omitempty"`
}

// Create a key, which is in this answer and nowhere else.
func (k *Keys) Create(ctx context.Context, request CreateKey) (*CreatedApiKey, error) {
	return ask[CreatedApiKey](ctx, k.conn, "POST /v1/keys", request, send{})
}

// KeyQuery chooses keys.
type KeyQuery struct {
	Tenant string `json:"tenant,omitempty"`
	PageQuery
}

// List, newest first.
func (k *Keys) List(ctx context.Context, query KeyQuery) (*Page[ApiKey], error) {
	return ask[Page[ApiKey]](ctx, k.conn, "GET /v1/keys", query, send{})
}

// All of them; tenant "" for those of all.
func (k *Keys) All(ctx context.Context, tenant string) ([]ApiKey, error) {
	return every(func(cursor string) (*Page[ApiKey], error) {
		return k.List(ctx, KeyQuery{tenant, PageQuery{500, cursor}})
	})
}

// Self is the one that is used: its tenant, and what it may do.
func (k *Keys) Self(ctx context.Context) (*ApiKey, error) {
	return ask[ApiKey](ctx, k.conn, "GET /v1/keys/self", nil, send{})
}

// Revoke makes a key stop working.
func (k *Keys) Revoke(ctx context.Context, id string) (*ApiKey, error) {
	return ask[ApiKey](ctx, k.conn, "DELETE /v1/keys/{id}", fields{"id": id}, send{})
}

// SignIn leads into the dashboard without typing a key.
type SignIn struct{ group }

// Link signs in once, within minutes, to what this key may do, or only to these scopes of it.
func (s *SignIn) Link(ctx context.Context, scopes ...string) (*SignInLink, error) {
	request := fields{}
	if len(scopes) > 0 {
		request["scopes"] = scopes
	}
	return ask[SignInLink](ctx, s.conn, "POST /v1/sign-in/links", request, send{})
}

// Exchange the code of such a link for a key; needs no key, and works once.
func (s *SignIn) Exchange(ctx context.Context, code string) (*CreatedApiKey, error) {
	return ask[CreatedApiKey](ctx, s.conn, "POST /v1/sign-in", fields{"code": code}, send{})
}

// End makes the key stop working if it came from a link; one that was made stays.
func (s *SignIn) End(ctx context.Context) error {
	return tell(ctx, s.conn, "DELETE /v1/sign-in", nil, send{})
}

// Tenants of the box.
type Tenants struct{ group }

// List them with their limits and use.
func (t *Tenants) List(ctx context.Context) (*Page[Tenant], error) {
	return ask[Page[Tenant]](ctx, t.conn, "GET /v1/tenants", nil, send{})
}

// TenantChange has the limits that change; what is 0 stays as it is.
type TenantChange struct {
	RequestsPerSecond float64 `json:"requests_per_second,omitempty"`
	Slots             int     `json:"slots,omitempty"`
	StorageBytes      int64   `json:"storage_bytes,omitempty"`
}

// Set the limits of a tenant.
func (t *Tenants) Set(ctx context.Context, name string, change TenantChange) (*Tenant, error) {
	input := struct {
		Name string `json:"name"`
		TenantChange
	}{name, change}
	return ask[Tenant](ctx, t.conn, "PUT /v1/tenants/{name}", input, send{})
}

// Credits of the tenant.
type Credits struct{ group }

// Balance of the tenant.
func (c *Credits) Balance(ctx context.Context) (*CreditBalance, error) {
	return ask[CreditBalance](ctx, c.conn, "GET /v1/credits", nil, send{})
}

// GrantCredits gives credits to a tenant.
type GrantCredits struct {
	Tenant string  `json:"tenant"`
	Amount float64 `json:"amount"`
	Note   string  `json:"note,omitempty"`
	// The same grant under the same key is given once. Default: a new one
	IdempotencyKey string `json:"-"`
}

// Grant credits, under an Idempotency-Key, so that a retry never grants twice.
func (c *Credits) Grant(ctx context.Context, grant GrantCredits) (*CreditEntry, error) {
	key := grant.IdempotencyKey
	if key == "" {
		key = newKey()
	}
	return ask[CreditEntry](ctx, c.conn, "POST /v1/credits/grants", grant, send{idempotencyKey: key})
}

// History, newest first.
func (c *Credits) History(ctx context.Context, query PageQuery) (*Page[CreditEntry], error) {
	return ask[Page[CreditEntry]](ctx, c.conn, "GET /v1/credits/history", query, send{})
}

// AllHistory, newest first.
func (c *Credits) AllHistory(ctx context.Context) ([]CreditEntry, error) {
	return every(func(cursor string) (*Page[CreditEntry], error) { return c.History(ctx, PageQuery{500, cursor}) })
}

// Secrets of the tenant. No answer ever has a value.
type Secrets struct{ group }

// Set keeps a secret, or changes its value.
func (s *Secrets) Set(ctx context.Context, name, value string) (*Secret, error) {
	return ask[Secret](ctx, s.conn, "PUT /v1/secrets/{name}", fields{"name": name, "value": value}, send{})
}

// List their names.
func (s *Secrets) List(ctx context.Context, query PageQuery) (*Page[Secret], error) {
	return ask[Page[Secret]](ctx, s.conn, "GET /v1/secrets", query, send{})
}

// All of them.
func (s *Secrets) All(ctx context.Context) ([]Secret, error) {
	return every(func(cursor string) (*Page[Secret], error) { return s.List(ctx, PageQuery{500, cursor}) })
}

// Delete a secret.
func (s *Secrets) Delete(ctx context.Context, name string) error {
	return tell(ctx, s.conn, "DELETE /v1/secrets/{name}", fields{"name": name}, send{})
}

// Events of the box.
type Events struct{ group }

// EventQuery chooses events.
type EventQuery struct {
	// A type, or a beginning of it that ends with a dot
	Type string `json:"type,omitempty"`
	// Such as execution:ID
	Subject string `json:"subject,omitempty"`
	Since   string `json:"since,omitempty"`
	PageQuery
}

// List what happened, newest first.
func (e *Events) List(ctx context.Context, query EventQuery) (*Page[Event], error) {
	return ask[Page[Event]](ctx, e.conn, "GET /v1/events", query, send{})
}

// All that happened, newest first; for very many, read page by page with List.
func (e *Events) All(ctx context.Context, query EventQuery) ([]Event, error) {
	return every(func(cursor string) (*Page[Event], error) {
		query.PageQuery = PageQuery{500, cursor}
		return e.List(ctx, query)
	})
}

// Follow what happens, as it happens, after so many recent events, or after the one with lastEventID; goes on by itself where a
// connection broke. It ends with ctx, or when it is closed.
func (e *Events) Follow(ctx context.Context, kind string, recent int, lastEventID string) *Stream[Event] {
	query := struct {
		Type   string `json:"type,omitempty"`
		Recent int    `json:"recent,omitempty"`
	}{kind, recent}
	endless := func(ServerEvent[Event]) bool { return false }
	return follow(ctx, e.conn, "GET /v1/events/stream", query, endless, lastEventID)
}

// Webhooks of the tenant.
type Webhooks struct{ group }

// CreateWebhook asks for a webhook.
type CreateWebhook struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// Default: sandbox.*
	Events []string `json:"events,omitempty"`
}

// Create a webhook. The secret that signs deliveries is in this answer and nowhere else.
func (w *Webhooks) Create(ctx context.Context, request CreateWebhook) (*CreatedWebhook, error) {
	return ask[CreatedWebhook](ctx, w.conn, "POST /v1/webhooks", request, send{})
}

// List those of the tenant and of the manifest.
func (w *Webhooks) List(ctx context.Context) (*Page[Webhook], error) {
	return ask[Page[Webhook]](ctx, w.conn, "GET /v1/webhooks", nil, send{})
}

// Get one.
func (w *Webhooks) Get(ctx context.Context, name string) (*Webhook, error) {
	return ask[Webhook](ctx, w.conn, "GET /v1/webhooks/{name}", fields{"name": name}, send{})
}

// Delete it, and what still waited for its hub.
func (w *Webhooks) Delete(ctx context.Context, name string) error {
	return tell(ctx, w.conn, "DELETE /v1/webhooks/{name}", fields{"name": name}, send{})
}

// Test sends the hub an event now, and tells what it answered.
func (w *Webhooks) Test(ctx context.Context, name string) (*WebhookTest, error) {
	return ask[WebhookTest](ctx, w.conn, "POST /v1/webhooks/{name}/test", fields{"name": name}, send{})
}

// DeliveryQuery chooses deliveries.
type DeliveryQuery struct {
	// pending, delivered or dead
	State string `json:"state,omitempty"`
	PageQuery
}

// Deliveries, newest first.
func (w *Webhooks) Deliveries(ctx context.Context, name string, query DeliveryQuery) (*Page[WebhookDelivery], error) {
	input := struct {
		Name string `json:"name"`
		DeliveryQuery
	}{name, query}
	return ask[Page[WebhookDelivery]](ctx, w.conn, "GET /v1/webhooks/{name}/deliveries", input, send{})
}

// Retry sends again what was given up; with an event, only its delivery.
func (w *Webhooks) Retry(ctx context.Context, name, event string) (*WebhookRetry, error) {
	input := struct {
		Name  string `json:"name"`
		Event string `json:"event,omitempty"`
	}{name, event}
	return ask[WebhookRetry](ctx, w.conn, "POST /v1/webhooks/{name}/retry", input, send{})
}

// Host that answers.
type Host struct{ group }

// Inspect shows the machine, its sandboxes and providers.
func (h *Host) Inspect(ctx context.Context) (*HostReport, error) {
	return ask[HostReport](ctx, h.conn, "GET /v1/host", nil, send{})
}

// Doctor looks at it anew: what it has and lacks, and the line that mends each.
func (h *Host) Doctor(ctx context.Context) (*HostExamination, error) {
	return ask[HostExamination](ctx, h.conn, "GET /v1/host/doctor", nil, send{})
}

// Stale lists sandboxes that no record owns, whose time is over, or that a crash left unfinished.
func (h *Host) Stale(ctx context.Context) (*Page[StaleSandbox], error) {
	return ask[Page[StaleSandbox]](ctx, h.conn, "GET /v1/host/stale", nil, send{})
}

// Canary makes a sandbox, runs a program in it, ends it, and tells how long each step took.
func (h *Host) Canary(ctx context.Context) (*CanaryRun, error) {
	return ask[CanaryRun](ctx, h.conn, "POST /v1/host/canary", nil, send{})
}

// Reap ends and removes what is stale.
func (h *Host) Reap(ctx context.Context, dryRun bool) (*Page[StaleSandbox], error) {
	return ask[Page[StaleSandbox]](ctx, h.conn, "POST /v1/host/reap", fields{"dry_run": dryRun}, send{})
}

// Runtime is the declared environment of the box.
type Runtime struct{ group }

// GraphSelection says which part of the graph is meant: a client, and profiles with commas between them.
type GraphSelection struct {
	Client  string `json:"client,omitempty"`
	Profile string `json:"profile,omitempty"`
}

// SyncRequest asks for Sync and Context.
type SyncRequest struct {
	GraphSelection
	// Tells what would be done, and does nothing
	DryRun bool `json:"dry_run,omitempty"`
	// Hears each part of the work that begins or ends, and lines about it; not for Context
	OnProgress func(WorkProgress) `json:"-"`
}

// BootstrapRequest asks for Bootstrap.
type BootstrapRequest struct {
	SyncRequest
	// With commas between them
	Task string `json:"task,omitempty"`
}

// ServiceRequest asks for Up, Down and Restart.
type ServiceRequest struct {
	SyncRequest
	// With commas between them; what they need comes along
	Service string `json:"service,omitempty"`
	// reuse, prod or fresh; not for Down
	Mode string `json:"mode,omitempty"`
	// How long to wait for the health of each
	WaitSeconds float64 `json:"wait_seconds,omitempty"`
}

// LogQuery asks for Logs.
type LogQuery struct {
	GraphSelection
	// With commas between them
	Service string `json:"service,omitempty"`
	Lines   int    `json:"lines,omitempty"`
}

// FocusRequest asks for Focus.
type FocusRequest struct {
	ClientID    string  `json:"client_id,omitempty"`
	Profile     string  `json:"profile,omitempty"`
	Service     string  `json:"service,omitempty"`
	Mode        string  `json:"mode,omitempty"`
	Resume      bool    `json:"resume,omitempty"`
	WaitSeconds float64 `json:"wait_seconds,omitempty"`
	// Hears each part of the work that begins or ends, and lines about it
	OnProgress func(WorkProgress) `json:"-"`
}

// Status tells the state of everything that is declared, and what needs attention.
func (r *Runtime) Status(ctx context.Context, selection GraphSelection) (*RuntimeStatus, error) {
	return ask[RuntimeStatus](ctx, r.conn, "GET /v1/runtime", selection, send{})
}

// Describe shows the model of the box: its paths inside and on the host, ports, clients and profiles.
func (r *Runtime) Describe(ctx context.Context) (*BoxModel, error) {
	return ask[BoxModel](ctx, r.conn, "GET /v1/sandbox", nil, send{})
}

// Render shows what is declared, after overlays, profiles and placeholders; with why also where each value came from.
func (r *Runtime) Render(ctx context.Context, selection GraphSelection, why bool) (*RenderedGraph, error) {
	input := struct {
		GraphSelection
		Why bool `json:"why,omitempty"`
	}{selection, why}
	return ask[RenderedGraph](ctx, r.conn, "GET /v1/runtime/graph", input, send{})
}

// Sync brings repos, artifacts, env files, log folders and skills to what is declared.
func (r *Runtime) Sync(ctx context.Context, request SyncRequest) (*SyncReport, error) {
	return work[SyncReport](ctx, r.conn, "POST /v1/runtime/sync", request, request.OnProgress)
}

// Bootstrap syncs, then runs the tasks whose success check does not hold yet.
func (r *Runtime) Bootstrap(ctx context.Context, request BootstrapRequest) (*BootstrapReport, error) {
	return work[BootstrapReport](ctx, r.conn, "POST /v1/runtime/bootstrap", request, request.OnProgress)
}

// Up starts services with what they need, and waits until they are healthy: look at OK.
func (r *Runtime) Up(ctx context.Context, request ServiceRequest) (*UpReport, error) {
	return work[UpReport](ctx, r.conn, "POST /v1/runtime/up", request, request.OnProgress)
}

// Down stops services, those that need others first. The server that answers goes on.
func (r *Runtime) Down(ctx context.Context, request ServiceRequest) (*DownReport, error) {
	return work[DownReport](ctx, r.conn, "POST /v1/runtime/down", request, request.OnProgress)
}

// Restart stops services with those that need them, then starts all of these again.
func (r *Runtime) Restart(ctx context.Context, request ServiceRequest) (*UpReport, error) {
	return work[UpReport](ctx, r.conn, "POST /v1/runtime/restart", request, request.OnProgress)
}

// Logs are the last lines that services and tasks wrote.
func (r *Runtime) Logs(ctx context.Context, query LogQuery) ([]ServiceLog, error) {
	logs, err := ask[ServiceLogs](ctx, r.conn, "GET /v1/runtime/logs", query, send{})
	if err != nil {
		return nil, err
	}
	return logs.Items, nil
}

// FollowLogs gives the last lines, then each that is written, from the beginning or after the one with lastEventID; goes on by itself
// where a connection broke. It ends with ctx, or when it is closed.
func (r *Runtime) FollowLogs(ctx context.Context, query LogQuery, lastEventID string) *Stream[ServiceLogLine] {
	endless := func(ServerEvent[ServiceLogLine]) bool { return false }
	return follow(ctx, r.conn, "GET /v1/runtime/logs", query, endless, lastEventID)
}

// Doctor checks the machine and the graph, with the line that mends each fault.
func (r *Runtime) Doctor(ctx context.Context, selection GraphSelection) (*GraphExamination, error) {
	return ask[GraphExamination](ctx, r.conn, "GET /v1/runtime/doctor", selection, send{})
}

// Context writes CLAUDE.md and AGENTS.md, which tell agents where they are.
func (r *Runtime) Context(ctx context.Context, request SyncRequest) (*ContextReport, error) {
	return ask[ContextReport](ctx, r.conn, "POST /v1/runtime/context", request, send{})
}

// Focus activates a client in one pass; with Resume the last one, without redoing what still holds.
func (r *Runtime) Focus(ctx context.Context, request FocusRequest) (*FocusReport, error) {
	return work[FocusReport](ctx, r.conn, "POST /v1/runtime/focus", request, request.OnProgress)
}

// Pulse tells what the supervisor sees and did.
func (r *Runtime) Pulse(ctx context.Context) (*PulseStatus, error) {
	return ask[PulseStatus](ctx, r.conn, "GET /v1/runtime/pulse", nil, send{})
}

// StartPulse starts the supervisor; seconds between two whole looks, 0 for what is configured.
func (r *Runtime) StartPulse(ctx context.Context, interval float64) (*PulseStatus, error) {
	input := fields{}
	if interval > 0 {
		input["interval"] = interval
	}
	return ask[PulseStatus](ctx, r.conn, "POST /v1/runtime/pulse/start", input, send{})
}

// StopPulse stops it: services go on, and nobody starts them again when they fall.
func (r *Runtime) StopPulse(ctx context.Context) (*PulseStatus, error) {
	return ask[PulseStatus](ctx, r.conn, "POST /v1/runtime/pulse/stop", nil, send{})
}

// Sessions are durable timelines of work notes, one per piece of work and client.
type Sessions struct{ group }

// StartSession asks for a session.
type StartSession struct {
	ClientID string `json:"client_id"`
	Label    string `json:"label,omitempty"`
	Goal     string `json:"goal,omitempty"`
}

// AddSessionEvent is an event to add.
type AddSessionEvent struct {
	// Default: note
	Type    string         `json:"type,omitempty"`
	Message string         `json:"message"`
	Detail  map[string]any `json:"detail,omitempty"`
}

// EndSession says how a session ended.
type EndSession struct {
	// completed, failed or abandoned
	State   string `json:"state,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// SessionQuery says which sessions to list.
type SessionQuery struct {
	ClientID string `json:"client_id,omitempty"`
	State    string `json:"state,omitempty"`
	Limit    int    `json:"limit,omitempty"`
}

// Start begins a session of a client.
func (s *Sessions) Start(ctx context.Context, request StartSession) (*WorkSession, error) {
	return ask[WorkSession](ctx, s.conn, "POST /v1/runtime/sessions", request, send{})
}

// Event adds to one that is active.
func (s *Sessions) Event(ctx context.Context, id string, event AddSessionEvent) (*SessionEvent, error) {
	input := struct {
		ID string `json:"id"`
		AddSessionEvent
	}{id, event}
	return ask[SessionEvent](ctx, s.conn, "POST /v1/runtime/sessions/{id}/events", input, send{})
}

// Heartbeat tells that somebody still works on it.
func (s *Sessions) Heartbeat(ctx context.Context, id string) (*WorkSession, error) {
	return ask[WorkSession](ctx, s.conn, "POST /v1/runtime/sessions/{id}/heartbeat", fields{"id": id}, send{})
}

// End ends it, with what the next one should know.
func (s *Sessions) End(ctx context.Context, id string, how EndSession) (*WorkSession, error) {
	input := struct {
		ID string `json:"id"`
		EndSession
	}{id, how}
	return ask[WorkSession](ctx, s.conn, "POST /v1/runtime/sessions/{id}/end", input, send{})
}

// Resume goes on with one that ended.
func (s *Sessions) Resume(ctx context.Context, id string) (*WorkSession, error) {
	return ask[WorkSession](ctx, s.conn, "POST /v1/runtime/sessions/{id}/resume", fields{"id": id}, send{})
}

// Get shows one with its events and what it handed over.
func (s *Sessions) Get(ctx context.Context, id string) (*WorkSessionDetail, error) {
	return ask[WorkSessionDetail](ctx, s.conn, "GET /v1/runtime/sessions/{id}", fields{"id": id}, send{})
}

// List has the newest first.
func (s *Sessions) List(ctx context.Context, query SessionQuery) ([]WorkSession, error) {
	sessions, err := ask[WorkSessions](ctx, s.conn, "GET /v1/runtime/sessions", query, send{})
	if err != nil {
		return nil, err
	}
	return sessions.Items, nil
}

// Connections ------------------------------------------------------------------------------------------------------------------

const (
	defaultTimeout = time.Minute
	firstPause     = 250 * time.Millisecond
	// The box says that it is alive every 15 seconds.
	longestSilence = 45 * time.Second
	streamRetries  = 6
)

// shared keeps connections for all clients of this package.
var shared = &http.Client{Transport: newTransport()}

func newTransport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	// The box closes connections that are idle for 65 seconds.
	transport.IdleConnTimeout = 30 * time.Second
	return transport
}

// connection is one box and one key: requests with time limits, retries and typed errors. It knows routes, but no particular one.
type connection struct {
	url, key, tenant string
	timeout          time.Duration
	maxRetries       int
	longestPause     time.Duration
	http             *http.Client
}

type send struct {
	body           io.Reader
	contentType    string
	idempotencyKey string
	lastEventID    string
	// The answer should be events.
	events bool
	// A status of errors that is an answer here.
	accept int
	// What is asked takes as long as it takes.
	waits bool
}

// ask gives the answer of a route as a record.
func ask[T any](ctx context.Context, c *connection, route string, input any, send send) (*T, error) {
	result := new(T)
	err := c.call(ctx, route, input, send, func(body io.Reader) error { return json.NewDecoder(body).Decode(result) })
	if err != nil {
		return nil, err
	}
	return result, nil
}

// tell is for routes that answer nothing.
func tell(ctx context.Context, c *connection, route string, input any, send send) error {
	return c.call(ctx, route, input, send, func(io.Reader) error { return nil })
}

func text(ctx context.Context, c *connection, route string, input any) (string, error) {
	var said string
	err := c.call(ctx, route, input, send{}, func(body io.Reader) error {
		content, err := io.ReadAll(body)
		said = string(content)
		return err
	})
	return said, err
}

func readAll(body io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

func every[T any](read func(cursor string) (*Page[T], error)) ([]T, error) {
	items := []T{}
	for cursor := ""; ; {
		page, err := read(cursor)
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.NextCursor == nil {
			return items, nil
		}
		cursor = *page.NextCursor
	}
}

// call reads the answer of a route.
func (c *connection) call(ctx context.Context, route string, input any, send send, read func(io.Reader) error) error {
	return c.exchange(ctx, route, input, send, func(answer *answer) error {
		defer answer.Close()
		if err := read(answer); err != nil {
			return answer.failure(err)
		}
		// What is read to its end leaves a connection that serves the next call.
		_, err := io.Copy(io.Discard, answer)
		return answer.failure(err)
	})
}

// open gives the answer of a route unread: only its head is waited for.
func (c *connection) open(ctx context.Context, route string, input any, send send) (*answer, error) {
	var opened *answer
	err := c.exchange(ctx, route, input, send, func(answer *answer) error {
		answer.unhurried()
		opened = answer
		return nil
	})
	return opened, err
}

func (c *connection) exchange(ctx context.Context, route string, input any, send send, read func(*answer) error) error {
	request, err := c.request(route, input, send)
	if err != nil {
		return err
	}
	repeatable := request.method == http.MethodGet || send.idempotencyKey != ""
	for number := 1; ; number++ {
		err := c.attempt(ctx, request, send, read)
		if err == nil {
			return nil
		}
		pause, again := c.pauseBefore(err, number, c.maxRetries, repeatable)
		if !again || !request.rewind() {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (c *connection) attempt(ctx context.Context, request *wireRequest, send send, read func(*answer) error) error {
	limit := c.timeout
	if limit == 0 && !send.waits {
		limit = defaultTimeout
	}
	ctx, cancel := context.WithCancel(ctx)
	answer := &answer{connection: c, limit: limit, cancel: cancel}
	if limit > 0 {
		answer.timer = time.AfterFunc(limit, func() {
			answer.late.Store(true)
			cancel()
		})
	}
	wire, err := http.NewRequestWithContext(ctx, request.method, c.url+request.target, request.content())
	if err != nil || (wire.URL.Scheme != "http" && wire.URL.Scheme != "https") {
		answer.Close()
		return usage(fmt.Sprintf("%q is not the address of a box.", c.url), "Give one such as http://localhost:8080.", err)
	}
	if sized, ok := request.body.(interface{ Len() int }); ok {
		wire.ContentLength = int64(sized.Len())
	}
	c.setHeaders(wire, request, send)
	response, err := c.http.Do(wire)
	if err != nil {
		answer.Close()
		return answer.failure(err)
	}
	answer.response = response
	if response.StatusCode >= 400 && response.StatusCode != send.accept {
		defer answer.Close()
		return answer.failure(errorOf(c.url, response))
	}
	return read(answer)
}

func (c *connection) setHeaders(wire *http.Request, request *wireRequest, send send) {
	set := func(name, value string) {
		if value != "" {
			wire.Header.Set(name, value)
		}
	}
	set("User-Agent", "skillbox-go/"+Version)
	if c.key != "" {
		set("Authorization", "Bearer "+c.key)
	}
	set("X-Tenant-ID", c.tenant)
	set("Content-Type", request.contentType)
	set("Idempotency-Key", send.idempotencyKey)
	set("Last-Event-ID", send.lastEventID)
	if send.events {
		set("Accept", "text/event-stream")
	}
}

// answer is what came, and the limits under which it is read.
type answer struct {
	connection *connection
	response   *http.Response
	limit      time.Duration
	timer      *time.Timer
	late       atomic.Bool
	cancel     context.CancelFunc
	silence    time.Duration
}

func (a *answer) Read(into []byte) (int, error) {
	if a.silence > 0 {
		a.timer.Reset(a.silence)
	}
	count, err := a.response.Body.Read(into)
	if err != nil && err != io.EOF {
		err = a.failure(err)
	}
	return count, err
}

func (a *answer) Close() error {
	if a.timer != nil {
		a.timer.Stop()
	}
	var err error
	if a.response != nil {
		err = a.response.Body.Close()
	}
	a.cancel()
	return err
}

// unhurried: the head is there; what follows may take long.
func (a *answer) unhurried() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// listening: as long as something comes from time to time.
func (a *answer) listening() {
	if a.timer == nil {
		a.timer = time.AfterFunc(longestSilence, a.cancel)
	}
	a.silence = longestSilence
}

// failure tells what an error of the transport means. What the caller's context ended is that context's error.
func (a *answer) failure(err error) error {
	var api *APIError
	var client *ClientError
	if err == nil || errors.As(err, &api) || errors.As(err, &client) {
		return err
	}
	if a.late.Load() && a.silence == 0 {
		message := fmt.Sprintf("%s did not answer within %s.", a.connection.url, a.limit)
		return &ClientError{Code: "timed_out", Message: message, Hint: "Raise the time limit, or ask again.", Err: context.DeadlineExceeded}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		if a.silence == 0 {
			return err
		}
		err = errors.New("nothing came for " + a.silence.String())
	}
	message := fmt.Sprintf("No box answers at %s: %s.", a.connection.url, reasonOf(err))
	hint := "Is it running, and is this its address? skillbox health says so."
	return &ClientError{Code: "unreachable", Message: message, Hint: hint, Err: err, broken: true}
}

// reasonOf leaves out what http.Client puts before it.
func reasonOf(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return err.Error()
}

type errorBody struct {
	Error     string          `json:"error"`
	Message   string          `json:"message"`
	Hint      string          `json:"hint"`
	RequestID string          `json:"request_id"`
	Details   json.RawMessage `json:"details"`
}

// failureIn is the error that an event tells, with the status that an answer would have had.
func failureIn(data []byte) error {
	var told struct {
		errorBody
		Status int `json:"status"`
	}
	if err := json.Unmarshal(data, &told); err != nil {
		return err
	}
	return &APIError{told.Status, told.Error, told.Message, told.Hint, told.RequestID, told.Details, 0}
}

func errorOf(address string, response *http.Response) error {
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var body errorBody
	if json.Unmarshal(content, &body) != nil || body.Error == "" {
		message := fmt.Sprintf("%s answered with status %d, but not as a Skillbox does.", address, response.StatusCode)
		return &ClientError{Code: "unreachable", Message: message, Hint: "Something else may listen there, or stand before the box."}
	}
	failure := &APIError{response.StatusCode, body.Error, body.Message, body.Hint, body.RequestID, body.Details, 0}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		failure.RetryAfter = time.Duration(seconds) * time.Second
	}
	return failure
}

// wireRequest has each field where it goes: path, query, or JSON body.
type wireRequest struct {
	method, target, contentType string
	body                        io.Reader
	start                       int64
	sent                        *sentBody
}

func (c *connection) request(route string, input any, send send) (*wireRequest, error) {
	method, pattern, _ := strings.Cut(route, " ")
	rest, err := fieldsOf(input)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		name := strings.Trim(part, "{}")
		parts[i] = url.PathEscape(plain(rest[name]))
		if name == "path" {
			// The one parameter that goes over several parts.
			parts[i] = strings.ReplaceAll(parts[i], "%2F", "/")
		}
		delete(rest, name)
	}
	request := &wireRequest{method: method, target: strings.Join(parts, "/"), body: send.body, contentType: send.contentType}
	if send.body == nil && method != http.MethodGet && method != http.MethodDelete {
		body, err := json.Marshal(rest)
		request.body, request.contentType = bytes.NewReader(body), "application/json"
		return request, err
	}
	if send.body != nil && request.contentType == "" {
		request.contentType = "application/octet-stream"
	}
	query := url.Values{}
	for name, value := range rest {
		query.Set(name, plain(value))
	}
	if len(query) > 0 {
		request.target += "?" + query.Encode()
	}
	if seeker, ok := send.body.(io.Seeker); ok {
		request.start, err = seeker.Seek(0, io.SeekCurrent)
	}
	return request, err
}

func fieldsOf(input any) (map[string]json.RawMessage, error) {
	rest := map[string]json.RawMessage{}
	if input == nil {
		return rest, nil
	}
	text, err := json.Marshal(input)
	if err != nil {
		return nil, usage("The request cannot be written as JSON: "+err.Error()+".", "", err)
	}
	return rest, json.Unmarshal(text, &rest)
}

// plain is a JSON value as it stands in an address.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// sentBody knows when the transport has let go of it: only then can it be sent again. Closing it does not close what is the caller's.
type sentBody struct {
	io.Reader
	once sync.Once
	done chan struct{}
}

func (b *sentBody) Close() error {
	b.once.Do(func() { close(b.done) })
	return nil
}

func (r *wireRequest) content() io.Reader {
	if r.body == nil {
		return nil
	}
	r.sent = &sentBody{Reader: r.body, done: make(chan struct{})}
	return r.sent
}

// rewind makes the body ready to be sent once more; false when it cannot be.
func (r *wireRequest) rewind() bool {
	if r.sent == nil {
		return true
	}
	seeker, ok := r.body.(io.Seeker)
	if !ok {
		return false
	}
	select {
	case <-r.sent.done:
	case <-time.After(5 * time.Second):
		return false
	}
	_, err := seeker.Seek(r.start, io.SeekStart)
	return err == nil
}

// pauseBefore gives the time until the next attempt, and whether there should be one.
func (c *connection) pauseBefore(err error, number, retries int, repeatable bool) (time.Duration, bool) {
	if number > retries {
		return 0, false
	}
	pause := time.Duration(float64(firstPause) * float64(int64(1)<<(number-1)) * (0.5 + random()/2))
	var api *APIError
	var client *ClientError
	if !errors.As(err, &api) {
		return pause, repeatable && errors.As(err, &client) && client.broken
	}
	if api.StatusCode != http.StatusTooManyRequests && api.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	// The first does not go away by itself; the second may stand for something that was half done.
	if api.ErrorCode == "sandbox_limit" || (api.ErrorCode == "unavailable" && !repeatable) {
		return 0, false
	}
	// Later than asked by a little, each at another time: all who were refused together would come back together.
	if asked := time.Duration(float64(api.RetryAfter) * (1 + random()/10)); asked > pause {
		pause = asked
	}
	return pause, pause <= c.longestPause
}

// sleep is a variable so that tests need not wait.
var sleep = func(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// random is from 0 to 1. Not math/rand, which older versions of Go start at the same place in every process.
func random() float64 {
	return float64(binary.BigEndian.Uint32(randomBytes(4))) / (1 << 32)
}

func newKey() string { return hex.EncodeToString(randomBytes(16)) }

func randomBytes(count int) []byte {
	bytes := make([]byte, count)
	if _, err := rand.Read(bytes); err != nil {
		panic("skillbox: this system gives no random bytes: " + err.Error())
	}
	return bytes
}

// Streams ----------------------------------------------------------------------------------------------------------------------

// ServerEvent is one event of a stream. Its ID, given as lastEventID, goes on from there.
type ServerEvent[T any] struct {
	ID    string
	Event string
	Data  T
}

// Stream is read with Next until that is false; then Err tells whether it ended well. Close lets go of it earlier.
type Stream[T any] struct {
	ctx         context.Context
	conn        *connection
	route       string
	input       any
	isLast      func(ServerEvent[T]) bool
	lastEventID string
	// Its end is the end, and it has no last event.
	once bool
	// What is missed is gone: it is not connected again.
	fragile  bool
	answer   *answer
	reader   *bufio.Reader
	event    ServerEvent[T]
	failures int
	ended    bool
	err      error
}

func follow[T any](ctx context.Context, conn *connection, route string, input any, isLast func(ServerEvent[T]) bool, lastEventID string) *Stream[T] {
	return &Stream[T]{ctx: ctx, conn: conn, route: route, input: input, isLast: isLast, lastEventID: lastEventID}
}

// Event is what Next found.
func (s *Stream[T]) Event() ServerEvent[T] { return s.event }

// Err is nil when the stream came to its end, or was closed.
func (s *Stream[T]) Err() error { return s.err }

// Close lets the box stop sending.
func (s *Stream[T]) Close() error {
	s.ended = true
	return s.disconnect()
}

// Next waits for the next event; where a connection broke it goes on without loss or repeat.
func (s *Stream[T]) Next() bool {
	for !s.ended {
		err := s.read()
		if err == nil {
			s.failures = 0
			s.lastEventID = s.event.ID
			if s.isLast(s.event) {
				s.Close()
			}
			return true
		}
		s.disconnect()
		if s.once && errors.Is(err, io.EOF) {
			s.ended = true
			return false
		}
		s.failures++
		pause, again := s.conn.pauseBefore(err, s.failures, streamRetries, !s.fragile)
		if s.ctx.Err() != nil {
			err, again = s.ctx.Err(), false
		}
		if again {
			err = sleep(s.ctx, pause)
		}
		if !again || err != nil {
			s.ended, s.err = true, err
		}
	}
	return false
}

func (s *Stream[T]) connect() error {
	answer, err := s.conn.open(s.ctx, s.route, s.input, send{lastEventID: s.lastEventID, events: true})
	if err != nil {
		return err
	}
	answer.listening()
	s.answer, s.reader = answer, bufio.NewReader(answer)
	return nil
}

// work asks for what takes long; onProgress, which may be nil, hears how it goes on. Ending ctx interrupts it, in order.
func work[T any](ctx context.Context, conn *connection, route string, input any, onProgress func(WorkProgress)) (*T, error) {
	if onProgress == nil {
		return ask[T](ctx, conn, route, input, send{waits: true})
	}
	answer, err := conn.open(ctx, route, input, send{waits: true, events: true})
	if err != nil {
		return nil, err
	}
	result := new(T)
	if !strings.HasPrefix(answer.response.Header.Get("Content-Type"), "text/event-stream") {
		// A box that is older than this.
		defer answer.Close()
		return result, answer.failure(json.NewDecoder(answer).Decode(result))
	}
	answer.listening()
	stream := &Stream[json.RawMessage]{ctx: ctx, conn: conn, answer: answer, reader: bufio.NewReader(answer)}
	defer stream.Close()
	for {
		event, data, err := stream.block()
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		case event.Event == "result":
			return result, json.Unmarshal([]byte(data), result)
		case event.Event == "error":
			return nil, failureIn([]byte(data))
		case event.Event == "progress":
			progress := WorkProgress{}
			if err := json.Unmarshal([]byte(data), &progress); err != nil {
				return nil, err
			}
			onProgress(progress)
		}
	}
}

func (s *Stream[T]) disconnect() error {
	if s.answer == nil {
		return nil
	}
	answer := s.answer
	s.answer, s.reader = nil, nil
	return answer.Close()
}

func (s *Stream[T]) read() error {
	if s.answer == nil {
		if err := s.connect(); err != nil {
			return err
		}
	}
	event, data, err := s.block()
	if err != nil {
		return err
	}
	return s.decode(event, data)
}

// block is the next event and its data as it came.
func (s *Stream[T]) block() (ServerEvent[T], string, error) {
	event := ServerEvent[T]{Event: "message"}
	var data []string
	for {
		line, err := s.reader.ReadString('\n')
		if err != nil {
			return event, "", &ClientError{Code: "unreachable", Message: "The stream ended before its end.", Err: err, broken: true}
		}
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && len(data) > 0:
			return event, strings.Join(data, "\n"), nil
		case name == "id":
			event.ID = value
		case name == "event":
			event.Event = value
		case name == "data":
			data = append(data, value)
		}
	}
}

func (s *Stream[T]) decode(event ServerEvent[T], data string) error {
	if event.Event == "error" {
		failure := struct{ Error, Message string }{}
		if err := json.Unmarshal([]byte(data), &failure); err != nil {
			return err
		}
		return &ClientError{Code: failure.Error, Message: failure.Message}
	}
	s.event = event
	return json.Unmarshal([]byte(data), &s.event.Data)
}

// Folders ----------------------------------------------------------------------------------------------------------------------

// leftovers are what a computer leaves in folders.
var leftovers = map[string]bool{"__MACOSX": true, ".DS_Store": true, "Thumbs.db": true, "desktop.ini": true, ".git": true, "__pycache__": true}

type packedFile struct {
	path       string
	data       []byte
	executable bool
}

func filesIn(root string) ([]packedFile, error) {
	var files []packedFile
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if leftovers[entry.Name()] {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		if !entry.Type().IsRegular() {
			return usage(below+" is neither a file nor a folder: it cannot be part of a skill.", "Put the file itself there.", nil)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files = append(files, packedFile{below, data, info.Mode()&0o111 != 0})
		return err
	})
	return files, err
}

// pack gives the same bytes for the same files, whenever they are packed.
func pack(files []packedFile) ([]byte, error) {
	sort.Slice(files, func(i, j int) bool { return files[i].path < files[j].path })
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, file := range files {
		header := &zip.FileHeader{Name: file.path, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		header.SetMode(0o644)
		if file.executable {
			header.SetMode(0o755)
		}
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(file.data); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return packed.Bytes(), err
}

// writeArtifacts: their names come from a skill, so none may lead out of the folder: not by itself, and not over a link, whether it is there
// or put there meanwhile.
func writeArtifacts(artifacts []Artifact, folder string, open func(path string) (io.ReadCloser, error)) ([]string, error) {
	// All names first: either nothing is wrong with any of them, or nothing is written.
	for _, artifact := range artifacts {
		if !isSafe(artifact.Path) {
			return nil, refused(artifact.Path, "its name could lead out of the folder")
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	root, err := pin(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	written := make([]string, 0, len(artifacts))
	for _, artifact := range artifacts {
		target := filepath.Join(folder, filepath.FromSlash(artifact.Path))
		if err := writeArtifact(root, artifact, target, open); err != nil {
			return written, err
		}
		written = append(written, target)
	}
	return written, nil
}

func writeArtifact(root *pinned, artifact Artifact, target string, open func(path string) (io.ReadCloser, error)) error {
	parts := strings.Split(artifact.Path, "/")
	parent, err := makeFolders(root, parts[:len(parts)-1], artifact.Path)
	if err != nil {
		return err
	}
	if parent != root {
		defer parent.Close()
	}
	content, err := open(artifact.Path)
	if err != nil {
		return err
	}
	defer content.Close()
	return writeWhole(parent, parts[len(parts)-1], artifact, content, target)
}

func isSafe(path string) bool {
	for _, part := range strings.Split(path, "/") {
		drive := len(part) > 1 && part[1] == ':'
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\x00\\") || drive {
			return false
		}
	}
	return true
}

// pinned is a folder held open: what is done below its path happens in it, whatever its name leads to by then. Other systems than Linux
// have no such path; there it is the name.
type pinned struct {
	*os.File
	path string
	own  os.FileInfo
}

func pin(path string) (*pinned, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	own, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	over := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if there, err := os.Stat(over); err == nil && os.SameFile(there, own) {
		path = over
	}
	return &pinned{file, path, own}, nil
}

func makeFolders(root *pinned, parts []string, path string) (*pinned, error) {
	folder := root
	for _, part := range parts {
		next, err := makeFolder(folder, part, path)
		if folder != root {
			folder.Close()
		}
		if err != nil {
			return nil, err
		}
		folder = next
	}
	return folder, nil
}

func makeFolder(above *pinned, part, path string) (*pinned, error) {
	folder := filepath.Join(above.path, part)
	if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if err := requireFolder(folder, part, path); err != nil {
		return nil, err
	}
	next, err := pin(folder)
	if err != nil {
		return nil, err
	}
	// Opening follows links: only when the name itself is what was opened was there none.
	if found, err := os.Lstat(folder); err != nil || !os.SameFile(found, next.own) {
		next.Close()
		return nil, refused(path, part+" has become a link")
	}
	return next, nil
}

func requireFolder(folder, part, path string) error {
	found, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if found.Mode()&os.ModeSymlink != 0 {
		return refused(path, part+" is a link")
	}
	if !found.IsDir() {
		return refused(path, part+" is not a folder")
	}
	return nil
}

// writeWhole writes under another name at first, so that a broken download leaves the old file, and a link at the target is replaced, not
// followed.
func writeWhole(folder *pinned, name string, artifact Artifact, content io.Reader, target string) (err error) {
	file, err := os.CreateTemp(folder.path, ".skillbox-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	digest := sha256.New()
	if _, err = io.Copy(io.MultiWriter(file, digest), content); err != nil {
		return err
	}
	if hex.EncodeToString(digest.Sum(nil)) != artifact.SHA256 {
		return refused(artifact.Path, "it did not arrive as it was sent")
	}
	if err = file.Chmod(0o644); err != nil {
		return err
	}
	own, err := file.Stat()
	if err != nil {
		return err
	}
	if err = file.Close(); err != nil {
		return err
	}
	if err = requireIn(file.Name(), own, artifact.Path); err != nil {
		return err
	}
	if err = os.Rename(file.Name(), filepath.Join(folder.path, name)); err != nil {
		return err
	}
	return requireIn(target, own, artifact.Path)
}

// requireIn tells whether this name still leads to what was written.
func requireIn(name string, own os.FileInfo, path string) error {
	if found, err := os.Lstat(name); err != nil || !os.SameFile(found, own) {
		return refused(path, "its folder was replaced while it was written")
	}
	return nil
}

func refused(path, why string) error {
	hint := "Save into an empty folder, or fetch all of them as an archive: Executions.Archive."
	return usage(fmt.Sprintf("The artifact %q cannot be saved: %s.", path, why), hint, nil)
}
