/** handoff.md: what the next one to work on it should know, from the summary and the events. */

import type { SessionEvent } from '@skillbox/protocol';
import type { Meta } from './folder.ts';

const decisionTypes = ['decision'];
const openTypes = ['open', 'todo', 'question', 'blocker', 'next'];
const ownTypes = /^session\./;
const mostListed = 50;
const lastNotes = 10;

export function handoff(meta: Meta, events: readonly SessionEvent[]): string {
  const of = (types: readonly string[]): string[] => events.filter(({ type }) => types.includes(type)).map(line);
  const notes = events.filter(({ type }) => !ownTypes.test(type) && !decisionTypes.includes(type) && !openTypes.includes(type));
  const head = [
    `# ${meta.label ? oneLine(meta.label) : `Session ${meta.session_id}`}`,
    '',
    `- session: ${meta.session_id}`,
    `- client: ${meta.client_id}`,
    `- state: ${meta.state}`,
    `- started: ${meta.started_at}`,
    `- ended: ${meta.ended_at ?? '-'}`,
    ...(meta.resumed > 0 ? [`- resumed: ${meta.resumed} times`] : []),
    `- events: ${events.length}`,
  ];
  return `${[
    head.join('\n'),
    section('Goal', meta.goal ? [meta.goal] : []),
    section('Summary', [meta.summary ?? 'None was given.']),
    section('Decisions', bounded(of(decisionTypes))),
    section('Open points', bounded(of(openTypes))),
    section('Last notes', notes.slice(-lastNotes).map(line)),
    section('Go on', [`    skillbox session resume ${meta.session_id}`]),
  ]
    .filter((part) => part !== '')
    .join('\n\n')}\n`;
}

const section = (title: string, lines: readonly string[]): string => (lines.length === 0 ? '' : `## ${title}\n\n${lines.join('\n')}`);

const line = ({ ts, type, detail }: SessionEvent): string =>
  `- ${ts.slice(0, 19)} ${type}: ${oneLine(typeof detail.message === 'string' ? detail.message : JSON.stringify(detail))}`;

/** The newest count most. */
function bounded(lines: readonly string[]): string[] {
  const left = lines.length - mostListed;
  return left > 0 ? [`- and ${left} before these, in events.jsonl`, ...lines.slice(-mostListed)] : [...lines];
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
