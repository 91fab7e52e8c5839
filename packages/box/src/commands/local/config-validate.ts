import { BoxError } from '@skillbox/protocol';
import type { CliContext, Outcome } from '../../cli/leaf.ts';
import { oneLine } from '../../cli/paint.ts';
import type { Finding } from '../../manifest/finding.ts';
import { checkManifestFile } from '../../manifest/load.ts';

export async function validate({ config: load, io }: CliContext, file: string | undefined): Promise<Outcome> {
  const config = load(file === undefined ? {} : { manifest: file });
  const { manifest, findings } = checkManifestFile(config);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const name = config.manifest ?? 'the built-in defaults';
  if (findings.length > 0 && !io.json) io.note(findings.map((finding) => line(finding, io.paint)).join('\n'));
  if (!manifest) {
    throw new BoxError('manifest_invalid', `${name} has ${errors} error${errors === 1 ? '' : 's'}.`, {
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
