import { expect, test } from 'vitest';
import { MissingVariable, withVariables } from './variables.ts';

const environment = { NAME: 'value', EMPTY: '', _other1: 'x' };

test.each([
  ['plain', 'plain'],
  [`\${NAME}`, 'value'],
  [`a \${env:NAME} b \${NAME}`, 'a value b value'],
  [`\${_other1}`, 'x'],
  [`\${NONE:-else}`, 'else'],
  [`\${NONE:-}`, ''],
  [`\${NAME:-else}`, 'value'],
  [`\${EMPTY:-else}`, 'else'],
  ['$NAME and $5 stay', '$NAME and $5 stay'],
  [`\${`, `\${`],
])('%s becomes %s', (text, expected) => {
  expect(withVariables(text, environment)).toBe(expected);
});

test('a value is not looked through again', () => {
  expect(withVariables(`\${A}`, { A: `\${B}`, B: 'x' })).toBe(`\${B}`);
});

test.each([`\${NONE}`, `\${EMPTY}`, `\${}`, `\${input:secret}`, `\${a b}`])('%s is missing', (text) => {
  expect(() => withVariables(`before ${text} after`, environment)).toThrow(new MissingVariable(text));
});
