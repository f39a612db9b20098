import { expect, test } from 'vitest';
import { renderGoTemplate, usesSuffix } from './go-template.ts';

const values = { System: 'Be brief.', Prompt: 'Hi', Suffix: '' };

test.each([
  ['{{ .Prompt }}', 'Hi'],
  ['{{.System}}|{{.Prompt}}', 'Be brief.|Hi'],
  ['no fields at all', 'no fields at all'],
  ['{{ if .System }}S:{{ .System }}\n{{ end }}U:{{ .Prompt }}\nA:', 'S:Be brief.\nU:Hi\nA:'],
  ['{{ if .Suffix }}<fim>{{ else }}<plain>{{ end }}{{ .Prompt }}', '<plain>Hi'],
  ['{{ if .Suffix }}{{ if .System }}a{{ else }}b{{ end }}{{ end }}c', 'c'],
  ['a \n {{- .Prompt -}} \n b', 'aHib'],
  ['{{ .Prompt }}<end>{{ .Response }}<end of reply>', 'Hi<end>'],
  ['{{ if .Response }}never{{ end }}{{ .Prompt }}', 'Hi'],
])('renderGoTemplate: %j gives %j', (template, expected) => expect(renderGoTemplate(template, values)).toBe(expected));

test.each([
  '{{ range .Messages }}{{ .Content }}{{ end }}',
  '{{ .Tools }}',
  '{{ if and .System .Prompt }}x{{ end }}',
  '{{ if .System }}x',
  '{{ end }}',
  '{{ else }}',
  '{{ .Prompt',
  '{{ .constructor }}',
])('renderGoTemplate: refuses %j', (template) =>
  expect(() => renderGoTemplate(template, values)).toThrow(/template .* is not possible/),
);

test('usesSuffix: whether a template has .Suffix', () => {
  expect(usesSuffix('<pre>{{ .Prompt }}<suf>{{- .Suffix -}}<mid>')).toBe(true);
  expect(usesSuffix('{{ .Prompt }}')).toBe(false);
});
