import { expect, test } from 'vitest';
import { jsonObject } from '../http/body.ts';
import { sentFields, withoutPassed } from './sent-fields.ts';

test('withoutPassed: what was passed on is not called ignored', async () => {
  const call = { body: Buffer.from('{"eta": 1, "s_noise": 2}') };
  await jsonObject(call.body, { empty: 'refuse' });
  const sent = sentFields(call);
  expect(sent.fields).toEqual({ eta: 1, s_noise: 2 });
  const reply = { status: 200, headers: { 'x-parley-ignored': 'eta, s_noise' }, body: '' };
  expect(withoutPassed(reply, call)).toBe(reply);
  sent.passed(['eta']);
  expect(withoutPassed(reply, call).headers).toEqual({ 'x-parley-ignored': 's_noise' });
  sent.passed(['s_noise']);
  expect(withoutPassed(reply, call).headers).toEqual({});
});

test('sentFields: the texts of a form', () => {
  const form = { fields: new Map([['beam_size', ['5']]]), files: [] };
  expect(sentFields({ body: Buffer.alloc(0), form }).fields).toEqual({ beam_size: '5' });
});
