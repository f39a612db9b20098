import { expect, test } from 'vitest';
import { defaultsOf } from './server-defaults.ts';

test('defaultsOf: reads /props by the names of llama.cpp, and the table for the rest', () => {
  const params = { temperature: 0.2, top_n_sigma: 1, mirostat_eta: 0.10000000149011612, n_predict: 1024 };
  const { sampling, replyLength } = defaultsOf({ default_generation_settings: { params } });
  expect(sampling).toMatchObject({
    temperature: 0.2,
    nsigma: 1,
    mirostat_eta: 0.1,
    tfs: 1,
    rep_pen_slope: 1,
    top_k: 100,
  });
  expect(replyLength).toBe(1024);
});

test('defaultsOf: without an answer these are the defaults of the table', () => {
  expect(defaultsOf(undefined)).toMatchObject({ sampling: { temperature: 0.7 }, replyLength: undefined });
});
