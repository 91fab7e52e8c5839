import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { Markdown } from './markdown.tsx';

const made = (text: string): string => renderToStaticMarkup(<Markdown text={text} />).replace(/^<div class="prose">|<\/div>$/g, '');

describe('instructions', () => {
  it('have headings, lists, code, tables and emphasis', () => {
    expect(made('# A\n\ntext **b** and `c`\n\n- one\n- two\n  - inner\n\n1. x\n')).toBe(
      '<h2>A</h2><p>text <strong>b</strong> and <code>c</code></p><ul><li>one</li><li>two<ul><li>inner</li></ul></li></ul><ol><li>x</li></ol>',
    );
    expect(made('```py\nprint("<b>")\n```')).toBe('<pre tabindex="0"><code>print(&quot;&lt;b&gt;&quot;)</code></pre>');
    expect(made('| a | b |\n|---|---|\n| 1 | 2 |')).toContain('<th>a</th>');
    expect(made('> quoted\n> more')).toBe('<blockquote><p>quoted\nmore</p></blockquote>');
  });

  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[x](javascript:alert(1))',
    '[x](data:text/html,<script>alert(1)</script>)',
    '![x](https://evil.example/pixel.png)',
    '[x]( javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '`<svg onload=alert(1)>`',
    '# <iframe src=//evil.example>',
  ])('make no element and no address of %s', (text) => {
    const html = made(text);
    expect(html).not.toMatch(/<(script|img|iframe|svg)/i);
    expect(html).not.toMatch(/href="(?!https?:|mailto:)/i);
    expect(html).not.toMatch(/<[a-z]+[^>]* on\w+=/);
  });

  it('end, whatever they are made of', () => {
    for (const text of ['```', '> '.repeat(200), '- '.repeat(500), '|'.repeat(300), '*'.repeat(2000), '[('.repeat(1000), '`'.repeat(999)])
      expect(typeof made(text)).toBe('string');
  });
});
