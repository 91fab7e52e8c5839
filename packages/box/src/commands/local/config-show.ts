import { stringify } from 'yaml';
import type { CliContext, Outcome } from '../../cli/leaf.ts';
import { type Column, formatTable } from '../../cli/table.ts';
import { explainConfig, type SettingName, type SettingSource, settings } from '../../config.ts';
import { declaredWithoutSecrets } from '../../graph/shown.ts';
import { loadManifest } from '../../manifest/load.ts';
import { formatDuration, formatSize } from '../../units.ts';

interface Row {
  readonly variable: string;
  readonly value: string | null;
  readonly source: SettingSource;
}

export async function show({ flags, io }: CliContext): Promise<Outcome> {
  const { config, sources } = explainConfig({ flags });
  const rows = (Object.keys(settings) as SettingName[]).map((name): Row => {
    const { env: variable, secret } = settings[name];
    const value = config[name];
    if (value === undefined) return { variable, value: null, source: 'default' };
    return { variable, value: secret ? '********' : written(name, value), source: sources.get(name) ?? 'default' };
  });
  const declared = loadManifest(config);
  const manifest = { ...declared, graph: declaredWithoutSecrets(declared.graph) };
  const head = io.paint('dim', `# Manifest: ${config.manifest ?? 'built-in defaults'}`);
  return {
    value: { manifest_file: config.manifest ?? null, state_root: config.stateRoot, settings: rows, manifest },
    text: `${formatTable(rows, columns, io)}\n\n${head}\n${stringify(manifest).trimEnd()}`,
  };
}

const columns: Column<Row>[] = [
  { title: 'SETTING', value: (row) => row.variable, tone: (row) => (row.source === 'default' ? undefined : 'bold') },
  { title: 'VALUE', value: (row) => row.value ?? '' },
  { title: 'FROM', value: (row) => row.source, tone: (row) => (row.source === 'default' ? 'dim' : 'cyan') },
];

const sizes = /(Memory|Disk|Size|Storage)$/;
const times = /(Timeout|Ttl|Interval)$/;

/** As one would write it in the variable. */
function written(name: SettingName, value: string | number): string {
  if (typeof value === 'string') return value;
  if (sizes.test(name) && name !== 'queueSize' && name !== 'tenantQueueSize') return formatSize(value);
  return times.test(name) ? formatDuration(value) : String(value);
}
