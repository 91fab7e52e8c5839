import { BoxError } from '@skillbox/protocol';
import type { CliContext, Outcome } from '../../cli/leaf.ts';
import { oneLine } from '../../cli/paint.ts';
import { everyFinding } from '../../graph/findings.ts';
import type { Finding } from '../../manifest/finding.ts';
import { checkManifestFile } from '../../manifest/load.ts';

export async function validate({ config: load, io }: CliContext, file: string | undefined): Promise<Outcome> {
  const config = load(file === undefined ? {} : { manifest: file });
  const checked = checkManifestFile(config);
  const findings = checked.manifest ? everyFinding(config) : checked.findings;
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const name = config.manifest ?? 'the built-in defaults';
  const place = findings.every(({ file: at }) => at === name) ? `${name} has` : `${name} and its overlays have`;
  if (findings.length > 0 && !io.json) io.note(findings.map((finding) => line(finding, io.paint)).join('\n'));
  if (errors > 0) {
    throw new BoxError('manifest_invalid', `${place} ${errors} error${errors === 1 ? '' : 's'}.`, {
      hint: 'Mend what is listed; docs/manifest.md explains every key.',
      details: { findings },
    });
  }
  const text =
    config.manifest === undefined ? 'There is no skillbox.yaml here; the built-in defaults are the manifest.' : `${name} is valid.`;
  return { value: { file: config.manifest ?? null, valid: true, findings }, text: `${io.paint('green', '✓')} ${text}` };
}

function line({ severity, file, line: at, column, code, message, fix }: Finding, paint: CliContext['io']['paint']): string {
  const tone = severity === 'error' ? 'red' : 'yellow';
  return `${file}:${at}:${column}: ${paint(tone, severity)}: ${oneLine(message)} ${paint('dim', `(${code})`)}\n    ${oneLine(fix)}`;
}
