import { expect, test } from 'vitest';
import { withFamilyPrefix } from './prepare.ts';

const template = '[gMASK]<sop>{% for message in messages %}…{% endfor %}';

test.each([
  ['a plain prompt', { prompt: 'Hello', memory: '' }, { prompt: '[gMASK]<sop>Hello', memory: '' }],
  ['memory', { prompt: 'Hello', memory: 'M' }, { prompt: 'Hello', memory: '[gMASK]<sop>M' }],
  ['marks that are there', { prompt: '[gMASK]<sop>Hello', memory: '' }, { prompt: '[gMASK]<sop>Hello', memory: '' }],
  [
    'marks in the wrong place',
    { prompt: 'a[gMASK]<sop>b', memory: 'm[gMASK]<sop>' },
    { prompt: 'ab', memory: '[gMASK]<sop>m' },
  ],
])('a GLM model gets its opening marks once, at the very front: %s', (_, given, expected) => {
  expect(withFamilyPrefix(template, given)).toEqual(expected);
});

test.each([null, '', '{{ messages }}'])('other models get the text as it is (%j)', (other) => {
  const given = { prompt: '[gMASK]<sop>x', memory: 'm' };
  expect(withFamilyPrefix(other, given)).toEqual(given);
});
