/** All files of all disks belong to it, those of the workspace too; each sandbox sees them as its own. Nothing ever runs as it. */
export const diskUid = 1_940_000_000;
