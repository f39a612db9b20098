import { expect, test } from 'vitest';
import { loadEmbedded } from '../testing/embedded.ts';

test('threadpools: the number of threads changes between two batches, and the logits stay what they are but for rounding', async () => {
  const { context, vocabulary, threadpools } = await loadEmbedded();
  const prompt = vocabulary.tokenize('The old clock in the hall had stopped.', { addSpecial: true });
  const read = (count: number) => {
    threadpools.use(count);
    context.forget(0, 0);
    context.clearBatch();
    let row = 0;
    for (const [index, token] of prompt.entries()) row = context.add(token, index, 0, index === prompt.length - 1);
    expect(context.decodeNow()).toBe('ok');
    return context.logits(row).slice();
  };
  const first = read(1);
  for (const count of [2, 1]) {
    const farthest = read(count).reduce((max, logit, id) => Math.max(max, Math.abs(logit - (first[id] as number))), 0);
    expect(farthest).toBeLessThan(1);
  }
});
