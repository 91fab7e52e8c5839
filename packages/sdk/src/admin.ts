/** What belongs to the box and its tenants, rather than to the work in it. */

import type { CallOptions } from './connection.ts';
import { type FollowOptions, follow, type ServerEvent } from './event-stream.ts';
import { Group } from './group.ts';
import { everyItem } from './pages.ts';
import type * as t from './types.ts';

type Input<R extends keyof t.Routes> = t.Routes[R]['input'];

export class Keys extends Group {
  /** The key itself is in this answer and nowhere else. */
  create(key: Input<'POST /v1/keys'>, options?: CallOptions): Promise<t.CreatedApiKey> {
    return this.connection.call('POST /v1/keys', key, options);
  }

  list(query: Input<'GET /v1/keys'> = {}, options?: CallOptions): Promise<t.Page<t.ApiKey>> {
    return this.connection.call('GET /v1/keys', query, options);
  }

  all(query: Input<'GET /v1/keys'> = {}, options?: CallOptions): AsyncGenerator<t.ApiKey> {
    return everyItem((next) => this.list(next, options), query);
  }

  /** The one that is used: its tenant, and what it may do. */
  self(options?: CallOptions): Promise<t.ApiKey> {
    return this.connection.call('GET /v1/keys/self', {}, options);
  }

  revoke(id: string, options?: CallOptions): Promise<t.ApiKey> {
    return this.connection.call('DELETE /v1/keys/{id}', { id }, options);
  }
}

/** Into the dashboard without typing a key. */
export class SignIn extends Group {
  /** A link that signs in once, within minutes, to what this key may do. */
  link(request: Input<'POST /v1/sign-in/links'> = {}, options?: CallOptions): Promise<t.SignInLink> {
    return this.connection.call('POST /v1/sign-in/links', request, options);
  }

  /** The key for the code of such a link; needs no key. Works once. */
  exchange(code: string, options?: CallOptions): Promise<t.CreatedApiKey> {
    return this.connection.call('POST /v1/sign-in', { code }, options);
  }

  /** The key stops working if it came from a link; one that was made stays. */
  end(options?: CallOptions): Promise<undefined> {
    return this.connection.call('DELETE /v1/sign-in', {}, options);
  }
}

export class Tenants extends Group {
  /** With their limits and use. */
  list(options?: CallOptions): Promise<t.Page<t.Tenant>> {
    return this.connection.call('GET /v1/tenants', {}, options);
  }

  /** What is left out stays as it is. */
  set(name: string, limits: Partial<t.TenantLimits>, options?: CallOptions): Promise<t.Tenant> {
    return this.connection.call('PUT /v1/tenants/{name}', { name, ...limits }, options);
  }
}

export class Credits extends Group {
  /** Of the tenant. */
  balance(options?: CallOptions): Promise<t.CreditBalance> {
    return this.connection.call('GET /v1/credits', {}, options);
  }

  /** Sent under an Idempotency-Key, so that a retry never grants twice. */
  grant(grant: Input<'POST /v1/credits/grants'>, options: CallOptions = {}): Promise<t.CreditEntry> {
    return this.connection.call('POST /v1/credits/grants', grant, { idempotencyKey: crypto.randomUUID(), ...options });
  }

  history(query: Input<'GET /v1/credits/history'> = {}, options?: CallOptions): Promise<t.Page<t.CreditEntry>> {
    return this.connection.call('GET /v1/credits/history', query, options);
  }

  allHistory(query: Input<'GET /v1/credits/history'> = {}, options?: CallOptions): AsyncGenerator<t.CreditEntry> {
    return everyItem((next) => this.history(next, options), query);
  }
}

export class Templates extends Group {
  /** The newest version of each. */
  list(options?: CallOptions): Promise<t.Page<t.Template>> {
    return this.connection.call('GET /v1/templates', {}, options);
  }

  get(name: string, options?: CallOptions): Promise<t.Template> {
    return this.connection.call('GET /v1/templates/{name}', { name }, options);
  }

  /** Makes it, or a new version of it. */
  apply(template: Input<'PUT /v1/templates/{name}'>, options?: CallOptions): Promise<t.Template> {
    return this.connection.call('PUT /v1/templates/{name}', template, options);
  }

  /** Which provider would make a sandbox of it now, and why not the others. */
  explain(name: string, options?: CallOptions): Promise<t.RouteExplanation> {
    return this.connection.call('GET /v1/templates/{name}/route', { name }, options);
  }
}

export class Events extends Group {
  /** What happened, newest first. */
  list(query: Input<'GET /v1/events'> = {}, options?: CallOptions): Promise<t.Page<t.BoxEvent>> {
    return this.connection.call('GET /v1/events', query, options);
  }

  all(query: Input<'GET /v1/events'> = {}, options?: CallOptions): AsyncGenerator<t.BoxEvent> {
    return everyItem((next) => this.list(next, options), query);
  }

  /** What happens, as it happens, until the signal aborts; goes on by itself where a connection broke. */
  follow(query: Input<'GET /v1/events/stream'> = {}, options?: FollowOptions): AsyncGenerator<ServerEvent<t.BoxEvent>> {
    return follow(this.connection, 'GET /v1/events/stream', query, () => false, options);
  }
}

export class Webhooks extends Group {
  /** The secret that signs deliveries is in this answer and nowhere else. */
  create(webhook: Input<'POST /v1/webhooks'>, options?: CallOptions): Promise<t.CreatedWebhook> {
    return this.connection.call('POST /v1/webhooks', webhook, options);
  }

  list(options?: CallOptions): Promise<t.Page<t.Webhook>> {
    return this.connection.call('GET /v1/webhooks', {}, options);
  }

  get(name: string, options?: CallOptions): Promise<t.Webhook> {
    return this.connection.call('GET /v1/webhooks/{name}', { name }, options);
  }

  delete(name: string, options?: CallOptions): Promise<undefined> {
    return this.connection.call('DELETE /v1/webhooks/{name}', { name }, options);
  }

  /** Sends the hub an event now, and tells what it answered. */
  test(name: string, options?: CallOptions): Promise<t.WebhookTest> {
    return this.connection.call('POST /v1/webhooks/{name}/test', { name }, options);
  }

  deliveries(
    name: string,
    query: Omit<Input<'GET /v1/webhooks/{name}/deliveries'>, 'name'> = {},
    options?: CallOptions,
  ): Promise<t.Page<t.WebhookDelivery>> {
    return this.connection.call('GET /v1/webhooks/{name}/deliveries', { name, ...query }, options);
  }

  /** Sends again what was given up; with an event, only its delivery. */
  retry(name: string, event?: string, options?: CallOptions): Promise<t.WebhookRetry> {
    return this.connection.call('POST /v1/webhooks/{name}/retry', { name, ...(event !== undefined && { event }) }, options);
  }
}

export class Secrets extends Group {
  /** No answer ever has its value. */
  set(name: string, value: string, options?: CallOptions): Promise<t.Secret> {
    return this.connection.call('PUT /v1/secrets/{name}', { name, value }, options);
  }

  list(query: Input<'GET /v1/secrets'> = {}, options?: CallOptions): Promise<t.Page<t.Secret>> {
    return this.connection.call('GET /v1/secrets', query, options);
  }

  all(query: Input<'GET /v1/secrets'> = {}, options?: CallOptions): AsyncGenerator<t.Secret> {
    return everyItem((next) => this.list(next, options), query);
  }

  delete(name: string, options?: CallOptions): Promise<undefined> {
    return this.connection.call('DELETE /v1/secrets/{name}', { name }, options);
  }
}

/** The host that answers. */
export class Host extends Group {
  inspect(options?: CallOptions): Promise<t.HostReport> {
    return this.connection.call('GET /v1/host', {}, options);
  }

  /** Looks at it anew: what it has and lacks, and the line that mends each. */
  doctor(options?: CallOptions): Promise<t.HostExamination> {
    return this.connection.call('GET /v1/host/doctor', {}, options);
  }

  /** Sandboxes that no record owns, whose time is over, or that a crash left unfinished. */
  stale(options?: CallOptions): Promise<t.Page<t.StaleSandbox>> {
    return this.connection.call('GET /v1/host/stale', {}, options);
  }

  /** Makes a sandbox, runs a program in it, ends it, and tells how long each step took. */
  canary(options?: CallOptions): Promise<t.CanaryRun> {
    return this.connection.call('POST /v1/host/canary', {}, options);
  }

  /** Ends and removes what is stale. */
  reap(request: Input<'POST /v1/host/reap'> = {}, options?: CallOptions): Promise<t.Page<t.StaleSandbox>> {
    return this.connection.call('POST /v1/host/reap', request, options);
  }
}
