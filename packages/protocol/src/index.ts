export * from './access.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './executions.ts';
export * from './ids.ts';
export * from './sandboxes.ts';
export * from './skills.ts';
export * from './wire.ts';
