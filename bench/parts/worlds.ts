/** What there is much of in a box whose growth is measured; `small` has little of everything. */
export const worlds = ['small', 'skills', 'records', 'sandboxes'] as const;

export type World = (typeof worlds)[number];
export type GrownWorld = Exclude<World, 'small'>;
