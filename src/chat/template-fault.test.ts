import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileTemplate } from './template.ts';
import { templateFault } from './template-fault.ts';

test.each([
  '',
  'only text',
  "{% for m in messages %}{{ m['content'] }}{% endfor %}",
  "{{ {'a': {'b': 1}} | tojson }}",
  '{{ "}}" }}{# {{ a comment #}',
  '{%- set x -%}text{%- endset -%}{% set y = 1 %}',
])('templateFault: %j is valid', (source) => {
  expect(templateFault(source)).toBeUndefined();
});

test.each<[source: string, line: number, column: number, near: string, reason: string]>([
  ['{{ a | }}', 1, 1, '{{ a | }}', 'Unexpected token: CloseExpression'],
  ['one\n two {{ a | }} three', 2, 6, '{{ a | }}', 'Unexpected token: CloseExpression'],
  ['{{ a }}\n{# {{ #}{{ b ] }}', 2, 9, '{{ b ] }}', 'Expected closing expression token'],
  ["{{ '}}' }}\n{% foo %}", 2, 1, '{% foo %}', 'Unknown statement type: foo'],
  ['a\n{% endif %}', 2, 1, '{% endif %}', 'Unknown statement type: endif'],
  ['{% for a b %}x{% endfor %}', 1, 1, '{% for a b %}', 'Expected `in` keyword'],
  ['{{ a }}\n\n  {{ b', 3, 3, '{{ b', 'Unexpected end of input'],
  ['x {{ "abc }}', 1, 3, '{{ "abc }}', 'Unexpected end of input'],
  ['x\n{# open', 2, 1, '{# open', 'Missing end of comment tag'],
  ['{{ a }}{{ a ? b }}', 1, 8, '{{ a ? b }}', 'Unexpected character: ?'],
  ['{% if a %}\n{% if b %}x{% endif %}\n', 1, 1, '{% if a %}', 'it has no end'],
  ['{% if a %}{% endif %}\n {% for b in c %}x', 2, 2, '{% for b in c %}', 'it has no end'],
  ['{% set x %}', 1, 1, '{% set x %}', 'it has no end'],
])('templateFault: %j has an error at line %i, column %i', (source, line, column, near, reason) => {
  expect(templateFault(source)).toEqual({ line, column, near, reason: expect.stringContaining(reason) });
});

test('templateFault: shortens a long tag', () => {
  const fault = templateFault(`{{ ${'a + '.repeat(100)} }}`);
  expect(fault?.near.length).toBeLessThan(70);
  expect(templateFault('{% if\n a ] %}{% endif %}')?.near).toBe('{% if');
});

test('templateFault: undefined exactly if the template compiles', async () => {
  const piece = fc.constantFrom(
    '{{',
    '}}',
    '{%',
    '%}',
    '{#',
    '#}',
    ' if ',
    ' endif ',
    ' for ',
    ' a ',
    '"',
    "'",
    '\n',
    '|',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const source = pieces.join('');
      const readable = await compileTemplate(source).then(
        () => true,
        () => false,
      );
      const fault = templateFault(source);
      expect(fault === undefined).toBe(readable);
      if (!fault) return;
      expect(fault.line).toBeLessThanOrEqual(source.split('\n').length);
      expect(source.split('\n')[fault.line - 1]?.slice(fault.column - 1)).toContain(fault.near.replace('…', ''));
    }),
  );
});
