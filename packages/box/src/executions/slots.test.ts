import { describe, expect, it, vi } from 'vitest';
import { createSlots, isWaiting, type Slot, type SlotLimits } from './slots.ts';

const limits: SlotLimits = { total: 2, queue: 10, tenantQueue: 4, tenantSlots: () => 2 };
const options = () => ({ signal: new AbortController().signal, timeoutMs: 10_000 });

describe('slots', () => {
  it('gives slots at once while there are some, then queues', () => {
    const slots = createSlots(limits);
    expect(isWaiting(slots.request('a', options()))).toBe(false);
    expect(isWaiting(slots.request('a', options()))).toBe(false);
    expect(isWaiting(slots.request('a', options()))).toBe(true);
    expect([slots.running, slots.queued]).toEqual([2, 1]);
  });

  it('serves a quiet tenant before the tenth of a flooding one', async () => {
    const slots = createSlots({ ...limits, total: 1, tenantQueue: 10 });
    const first = slots.request('flood', options()) as Slot;
    const order: string[] = [];
    const wait = (tenant: string) => {
      const place = slots.request(tenant, options());
      if (isWaiting(place)) {
        place.slot.then((slot) => {
          order.push(tenant);
          slot.release();
        });
      }
    };
    for (let index = 0; index < 5; index += 1) wait('flood');
    wait('quiet');
    first.release();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(order.indexOf('quiet')).toBeLessThanOrEqual(1);
    expect(order).toHaveLength(6);
    expect([slots.running, slots.queued]).toEqual([0, 0]);
  });

  it('holds one tenant to its own slots', () => {
    const slots = createSlots({ ...limits, total: 10, tenantSlots: (tenant) => (tenant === 'small' ? 1 : 5) });
    slots.request('small', options());
    expect(isWaiting(slots.request('small', options()))).toBe(true);
    expect(isWaiting(slots.request('large', options()))).toBe(false);
  });

  it('refuses with queue_full when a tenant has too many waiting', () => {
    const slots = createSlots(limits);
    for (let index = 0; index < 6; index += 1) {
      const place = slots.request('a', options());
      if (isWaiting(place)) place.slot.catch(() => undefined);
    }
    expect(() => slots.request('a', options())).toThrowError(expect.objectContaining({ code: 'queue_full', retryAfter: 1 }));
    expect(isWaiting(slots.request('b', options()))).toBe(true);
  });

  it('keeps a slot for a tenant that runs nothing, however long the runs of others are', () => {
    const slots = createSlots({ ...limits, total: 10, queue: 100, tenantQueue: 50, tenantSlots: () => 8 });
    const places = ['flood', 'flood too'].flatMap((tenant) => Array.from({ length: 8 }, () => slots.request(tenant, options())));
    expect(places.filter((place) => !isWaiting(place))).toHaveLength(9);
    expect(isWaiting(slots.request('quiet', options()))).toBe(false);
    // One more than its first has to wait like any other's.
    expect(isWaiting(slots.request('quiet', options()))).toBe(true);
    slots.close();
  });

  it('lets so many start at once, and more when those have started', async () => {
    const slots = createSlots({ ...limits, total: 10, queue: 100, tenantQueue: 50, tenantSlots: () => 8, young: 2 });
    const places = Array.from({ length: 6 }, () => slots.request('flood', options()));
    expect(places.map(isWaiting)).toEqual([false, false, true, true, true, true]);
    // Who runs nothing does not wait for that.
    expect(isWaiting(slots.request('quiet', options()))).toBe(false);
    await vi.waitFor(() => expect(slots.running).toBe(7), 1000);
    slots.close();
  });

  it('leaves some of the processor free while several tenants want it', async () => {
    const slots = createSlots({ ...limits, total: 20, queue: 100, tenantQueue: 50, tenantSlots: () => 8, young: 2 });
    const start = (tenant: string): boolean => !isWaiting(slots.request(tenant, options()));
    // The first of each has nobody before it; then one is young, which is all that may be.
    expect([start('one'), start('two'), start('one'), start('two')]).toEqual([true, true, false, false]);
    // Who has had nothing of late does not wait for them.
    expect([start('quiet'), start('quiet')]).toEqual([true, false]);
    slots.close();
  });

  it('lets the next one start when the program of a young one has ended', () => {
    const slots = createSlots({ ...limits, total: 10, queue: 100, tenantQueue: 50, tenantSlots: () => 8, young: 1 });
    const first = slots.request('flood', options()) as Slot;
    slots.request('flood', options());
    expect(slots.running).toBe(1);
    first.programEnded();
    expect(slots.running).toBe(2);
    first.programEnded();
    first.release();
    expect([slots.running, slots.queued]).toEqual([1, 0]);
    slots.close();
  });

  it('of those that wait serves first who has had least of late', async () => {
    const slots = createSlots({ ...limits, total: 1, queue: 100, tenantQueue: 50, tenantSlots: () => 1 });
    for (let count = 0; count < 3; count += 1) (slots.request('often', options()) as Slot).release();
    const held = slots.request('other', options()) as Slot;
    const order: string[] = [];
    for (const tenant of ['often', 'quiet']) {
      const place = slots.request(tenant, options());
      if (!isWaiting(place)) continue;
      place.slot.then((slot) => {
        order.push(tenant);
        slot.release();
      });
    }
    held.release();
    await vi.waitFor(() => expect(order).toEqual(['quiet', 'often']));
  });

  it('says how much of the processor is fair: less for who has had much', () => {
    const slots = createSlots({ ...limits, total: 10, queue: 100, tenantSlots: () => 8 });
    const shares = ['flood', 'flood', 'flood', 'quiet'].map((tenant) => (slots.request(tenant, options()) as Slot).share);
    expect(shares).toEqual([1, 1 / 2, 1 / 3, 1]);
  });

  it('serves who runs least before whose turn it is', async () => {
    const slots = createSlots({ ...limits, total: 3, queue: 100, tenantQueue: 50, tenantSlots: () => 3 });
    const held = [slots.request('many', options()), slots.request('many', options()), slots.request('one', options())] as Slot[];
    const order: string[] = [];
    for (const tenant of ['many', 'one', 'none', 'none']) {
      const place = slots.request(tenant, options());
      if (isWaiting(place)) place.slot.then(() => order.push(tenant));
    }
    for (const slot of held) slot.release();
    await new Promise((resolve) => setTimeout(resolve, 5));
    // none has nothing, then all have one.
    expect(order).toEqual(['none', 'many', 'one']);
  });

  it('has a place for a tenant that waits for nothing, although others have filled the queue', () => {
    const slots = createSlots({ ...limits, total: 1, queue: 4 });
    slots.request('flood', options());
    for (let index = 0; index < 4; index += 1) slots.request('flood', options());
    expect(() => slots.requirePlace('quiet')).not.toThrow();
    expect(isWaiting(slots.request('quiet', options()))).toBe(true);
    expect(() => slots.requirePlace('quiet')).toThrowError(expect.objectContaining({ code: 'queue_full' }));
    expect(() => slots.request('quiet', options())).toThrowError(expect.objectContaining({ code: 'queue_full' }));
  });

  it('says ahead what a request would be told', () => {
    const slots = createSlots({ ...limits, total: 1, queue: 0 });
    expect(() => slots.requirePlace('a')).not.toThrow();
    slots.request('a', options());
    expect(() => slots.requirePlace('b')).toThrowError(expect.objectContaining({ code: 'queue_full', retryAfter: 1 }));
  });

  it('lets go of who waits too long or is cancelled', async () => {
    const slots = createSlots({ ...limits, total: 1 });
    const held = slots.request('a', options()) as Slot;
    const late = slots.request('a', { ...options(), timeoutMs: 10 });
    const controller = new AbortController();
    const gone = slots.request('a', { signal: controller.signal, timeoutMs: 10_000 });
    controller.abort();
    if (!isWaiting(late) || !isWaiting(gone)) throw new Error('both should wait');
    await expect(late.slot).rejects.toMatchObject({ code: 'queue_timeout' });
    await expect(gone.slot).rejects.toMatchObject({ code: 'cancelled' });
    expect(slots.queued).toBe(0);
    held.release();
    expect(slots.running).toBe(0);
  });

  it('refuses everybody once closed', async () => {
    const slots = createSlots({ ...limits, total: 1 });
    slots.request('a', options());
    const waiting = slots.request('a', options());
    slots.close();
    if (isWaiting(waiting)) await expect(waiting.slot).rejects.toMatchObject({ code: 'shutting_down' });
    expect(() => slots.request('a', options())).toThrowError(expect.objectContaining({ code: 'shutting_down' }));
  });
});
