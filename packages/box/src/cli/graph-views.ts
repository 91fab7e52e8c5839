/** What people see of the commands of the graph. */

import { describeView, renderView } from './graph-render-view.ts';
import { bootstrapView, doctorView, downView, logsView, pulseView, syncView, upView } from './graph-report-views.ts';
import { statusView } from './graph-status-view.ts';

export const graphViews = {
  'box.describe': describeView,
  render: renderView,
  status: statusView,
  sync: syncView,
  bootstrap: bootstrapView,
  up: upView,
  down: downView,
  restart: upView,
  logs: logsView,
  doctor: doctorView,
  pulse: pulseView,
  'pulse.start': pulseView,
  'pulse.stop': pulseView,
} as const;
