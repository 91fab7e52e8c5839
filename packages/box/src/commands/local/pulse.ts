import { pulseInput } from '../pulse.ts';
import { localCommand } from './command.ts';

export const pulseProcessCommands = [
  localCommand({
    name: 'pulse.run',
    summary: 'Run pulse in the foreground',
    description:
      'What it sees and does goes to stderr. Ctrl-C or SIGTERM stops it; services go on. skillbox up and pulse start run it in the background.',
    input: pulseInput,
    cli: { words: 'pulse run', examples: ['skillbox pulse run', 'skillbox pulse run --interval 10'] },
    async run({ config }, { interval }) {
      const { onInterrupt } = await import('../../process/interrupts.ts');
      const { runPulse } = await import('../../graph/pulse/run.ts');
      let stop: () => void = () => undefined;
      const until = new Promise<void>((resolve) => {
        stop = resolve;
      });
      const interrupts = onInterrupt(() => stop());
      await runPulse({
        config: () => config(),
        interval,
        until,
        say: (text) => process.stderr.write(`${new Date().toISOString()} ${text}\n`),
      });
      interrupts.stop();
      return {};
    },
  }),
];
