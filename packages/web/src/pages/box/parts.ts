/** What the page consists of. */
export const parts = [
  { id: 'graph', title: 'Graph' },
  { id: 'focus', title: 'Focus' },
  { id: 'sessions', title: 'Sessions' },
  { id: 'pulse', title: 'Pulse' },
  { id: 'doctor', title: 'Doctor' },
  { id: 'about', title: 'About' },
] as const;

export type PartId = (typeof parts)[number]['id'];
