import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { inOrder, reversed, walk, withDependents, withNeeded } from './order.ts';

const node = (id: string, ...dependsOn: string[]) => ({ id, dependsOn });
const nodes = [node('web', 'api', 'auth'), node('api', 'db'), node('auth', 'db'), node('db'), node('alone')];
const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id);

it('what is named comes with all it needs, or with all that need it', () => {
  expect(ids(withNeeded(nodes, ['api'], 'service'))).toEqual(['api', 'db']);
  expect(ids(withNeeded(nodes, [], 'service'))).toEqual(ids(nodes));
  expect(ids(withDependents(nodes, ['auth']))).toEqual(['web', 'auth']);
  expect(ids(withDependents(nodes, ['db']))).toEqual(['web', 'api', 'auth', 'db']);
  expect(() => withNeeded(nodes, ['web', 'wbe'], 'service')).toThrow(/No service wbe is selected; there are web, api/);
});

it('what is needed comes first; turned round, last', () => {
  const order = ids(inOrder(nodes));
  expect(order.indexOf('db')).toBeLessThan(order.indexOf('api'));
  expect(order.indexOf('api')).toBeLessThan(order.indexOf('web'));
  const back = ids(inOrder(reversed(nodes)));
  expect(back.indexOf('web')).toBeLessThan(back.indexOf('auth'));
  expect(back.at(-1)).toBe('db');
});

it('a circle is refused, and what is not there counts as there', () => {
  expect(() => inOrder([node('a', 'b'), node('b', 'a'), node('c')])).toThrow(/circle: a, b/);
  expect(ids(inOrder([node('a', 'elsewhere')]))).toEqual(['a']);
});

it('work goes on at once where the order allows, within its bound, and is told what became of what it needs', async () => {
  let [now, most] = [0, 0];
  const begun: string[] = [];
  const results = await walk(nodes, 2, async ({ id }, needed: readonly string[]) => {
    begun.push(id);
    most = Math.max(most, ++now);
    await sleep(20);
    now--;
    return `${id}(${needed.join(',')})`;
  });
  expect(most).toBe(2);
  expect(begun.slice(0, 2).sort()).toEqual(['alone', 'db']);
  expect(begun.at(-1)).toBe('web');
  expect(results.get('web')).toBe('web(api(db()),auth(db()))');
});

it('when one throws nothing new begins, and what runs comes to its end', async () => {
  const ended: string[] = [];
  const work = async ({ id }: { id: string }) => {
    await sleep(id === 'db' ? 5 : 30);
    if (id === 'db') throw new Error('no db');
    ended.push(id);
  };
  await expect(walk(nodes, 8, work)).rejects.toThrow('no db');
  expect(ended).toEqual(['alone']);
});

it('ten thousand in a row are no trouble', () => {
  const chain = Array.from({ length: 10_000 }, (_, at) => node(`n${at}`, ...(at > 0 ? [`n${at - 1}`] : [])));
  const since = performance.now();
  expect(ids(inOrder(reversed(chain))).at(-1)).toBe('n0');
  expect(performance.now() - since).toBeLessThan(3000);
});
