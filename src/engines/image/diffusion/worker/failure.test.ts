import { expect, test } from 'vitest';
import { AppError } from '../../../../core/errors.ts';
import { asEngineFailure, loadReason } from './failure.ts';

test('what the driver says becomes one sentence with one full stop', () => {
  expect(asEngineFailure(new Error(' out of memory. ')).message).toBe(
    'The image engine could not do this: out of memory.',
  );
  expect(asEngineFailure('odd')).toMatchObject({ code: 'engine-failed', status: 500 });
});

test('what is refused already stays as it is', () => {
  const refused = new AppError('invalid-field', { field: 'mask', expected: 'a picture' });
  expect(asEngineFailure(refused)).toBe(refused);
});

test('a model that cannot be loaded is told by what people can do about it', () => {
  const said = 'SdModel::load() failed -- could not create stable-diffusion context. Check backend, params_backend';
  expect(loadReason(new Error(said))).toMatch(/^the engine could make no model of it.*--sdvae/);
  expect(loadReason(new Error('no such file'))).toBe('no such file');
  expect(loadReason('odd')).toBe('odd');
});
