/** What the box counts, for Prometheus. Labels are bounded: routes and states, never tenants, names or ids. */

import { type ExecutionPhase, type ExecutionTimings, executionPhases, serviceStates } from '@skillbox/protocol';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { GraphFigures } from '../graph/figures.ts';
import type { WarmState } from '../sandbox/provider.ts';
import type { StockState } from '../sandbox/stock.ts';

export interface Metrics {
  readonly requests: Counter<'method' | 'route' | 'status'>;
  readonly requestSeconds: Histogram<'route'>;
  readonly executions: Counter<'status' | 'lang'>;
  readonly executionSeconds: Histogram<'lang'>;
  readonly queueSeconds: Histogram;
  /** Where the time of an execution went; `warm` as in its record. */
  observePhases(timings: ExecutionTimings, warm: boolean | null): void;
  observeRespond(ms: number, warm: boolean | null): void;
  readonly refused: Counter<'reason'>;
  readonly egressDecisions: Counter<'decision' | 'reason'>;
  readonly egressBytes: Counter<'direction'>;
  readonly webhookAttempts: Counter<'outcome'>;
  render(): Promise<string>;
}

export interface Readings {
  running(): number;
  queued(): number;
  launchersReady(): number;
  warm(): WarmState;
  ahead(): StockState;
  egressConnections(): number;
  webhooksPending(): Promise<number>;
  graph(): GraphFigures;
}

const quick = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Phases of a warm run take tens of microseconds. */
const fine = [0.000_05, 0.0001, 0.000_25, 0.0005, ...quick];

export function createMetrics(readings: Readings): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'skillbox_' });
  const gauge = (name: string, help: string, read: () => number | Promise<number>): Gauge =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  gauge('skillbox_executions_running', 'Executions that run now', readings.running);
  gauge('skillbox_executions_queued', 'Executions that wait for a slot', readings.queued);
  gauge('skillbox_launchers_ready', 'Launchers that stand by', readings.launchersReady);
  gauge('skillbox_warm_ready', 'Sandboxes that stand ready for a job', () => readings.warm().ready);
  gauge('skillbox_warm_wanted', 'Sandboxes that the demand of late asks for', () => readings.warm().wanted);
  gauge('skillbox_warm_memory_bytes', 'Memory that they hold', () => readings.warm().memoryBytes);
  gauge('skillbox_warm_served', 'Runs since the start that one of them served', () => readings.warm().served);
  gauge('skillbox_warm_copied', 'Of those, by a copy of an interpreter that had started', () => readings.warm().copied);
  gauge('skillbox_warm_missed', 'Runs since the start that could have been served, had one been ready', () => readings.warm().missed);
  gauge('skillbox_pool_ready', 'Living sandboxes that stand ready for a create', () => readings.ahead().ready);
  gauge('skillbox_pool_wanted', 'Living sandboxes that the creates of late ask for', () => readings.ahead().wanted);
  gauge('skillbox_pool_memory_bytes', 'Memory that they hold', () => readings.ahead().memoryBytes);
  gauge('skillbox_pool_served', 'Creates since the start that one of them served', () => readings.ahead().served);
  gauge('skillbox_pool_missed', 'Creates since the start that could have been served, had one been ready', () => readings.ahead().missed);
  gauge('skillbox_egress_connections', 'Connections of sandboxes to the egress proxy', readings.egressConnections);
  gauge('skillbox_webhook_deliveries_pending', 'Deliveries that wait, of the webhooks this host delivers for', readings.webhooksPending);
  graphGauges(registry, readings);
  const phaseSeconds = new Histogram({
    name: 'skillbox_execution_phase_seconds',
    help: 'Time of executions by phase; start says whether a sandbox stood ready for it',
    labelNames: ['phase', 'start'],
    buckets: fine,
    registers,
  });
  const observe = (phase: ExecutionPhase | 'respond', ms: number, warm: boolean | null): void =>
    phaseSeconds.observe({ phase, start: warm === null ? 'none' : warm ? 'warm' : 'cold' }, ms / 1000);
  return {
    observePhases(timings, warm) {
      for (const phase of executionPhases) {
        const ms = timings[phase];
        if (ms !== null) observe(phase, ms, warm);
      }
    },
    observeRespond: (ms, warm) => observe('respond', ms, warm),
    requests: new Counter({
      name: 'skillbox_http_requests_total',
      help: 'Requests answered',
      labelNames: ['method', 'route', 'status'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'skillbox_http_request_seconds',
      help: 'Time to answer',
      labelNames: ['route'],
      buckets: quick,
      registers,
    }),
    executions: new Counter({
      name: 'skillbox_executions_total',
      help: 'Executions that ended',
      labelNames: ['status', 'lang'],
      registers,
    }),
    executionSeconds: new Histogram({
      name: 'skillbox_execution_seconds',
      help: 'Time of the run without the queue',
      labelNames: ['lang'],
      buckets: quick,
      registers,
    }),
    queueSeconds: new Histogram({ name: 'skillbox_queue_seconds', help: 'Time spent waiting for a slot', buckets: quick, registers }),
    refused: new Counter({ name: 'skillbox_refused_total', help: 'Requests refused for load', labelNames: ['reason'], registers }),
    egressDecisions: new Counter({
      name: 'skillbox_egress_decisions_total',
      help: 'Decisions of the egress proxy',
      labelNames: ['decision', 'reason'],
      registers,
    }),
    egressBytes: new Counter({
      name: 'skillbox_egress_bytes_total',
      help: 'Bytes of ended connections through the egress proxy',
      labelNames: ['direction'],
      registers,
    }),
    webhookAttempts: new Counter({
      name: 'skillbox_webhook_attempts_total',
      help: 'Attempts to deliver to webhooks by how they ended; dead counts those that were given up',
      labelNames: ['outcome'],
      registers,
    }),
    render: () => registry.metrics(),
  };
}

/** One reading of the disk serves all gauges of a scrape: the first of them reads it. */
function graphGauges(registry: Registry, readings: Readings): void {
  const registers = [registry];
  let figures: GraphFigures;
  new Gauge({
    name: 'skillbox_graph_services',
    help: 'Services of the graph by state, as pulse last saw them',
    labelNames: ['state'],
    registers,
    collect() {
      figures = readings.graph();
      for (const state of serviceStates) this.set({ state }, figures.services.get(state) ?? 0);
    },
  });
  const gauge = (name: string, help: string, read: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge('skillbox_pulse_up', '1 while pulse runs', () => Number(figures.pulseUp));
  gauge('skillbox_pulse_heals', 'Services that pulse brought back', () => figures.heals);
  gauge('skillbox_graph_service_restarts', 'Starts by pulse since services were last started by hand', () => figures.restarts);
  gauge('skillbox_graph_services_given_up', 'Services that fell too often', () => figures.givenUp);
  gauge('skillbox_graph_checks_failing', 'Declared checks that do not hold', () => figures.failingChecks);
}
