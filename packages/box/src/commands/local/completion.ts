import { z } from 'zod';
import { localCommand } from './command.ts';

export const completionCommands = [
  localCommand({
    name: 'completion',
    summary: 'Print the completion script of a shell',
    description: 'Completes commands, flags and the values of flags that have a fixed set of them.',
    input: z.object({ shell: z.enum(['bash', 'zsh', 'fish']).describe('Shell to complete in') }),
    cli: {
      words: 'completion',
      args: ['shell'],
      examples: [
        'source <(skillbox completion bash)',
        'skillbox completion zsh > ~/.zfunc/_skillbox',
        'skillbox completion fish > ~/.config/fish/completions/skillbox.fish',
      ],
    },
    async run({ leaves }, { shell }) {
      const { completionScript } = await import('./completion-script.ts');
      const script = completionScript(shell, leaves);
      return { value: { shell, script }, text: script };
    },
  }),
];
