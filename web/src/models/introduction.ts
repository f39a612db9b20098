import { embeddedModel, parametersText } from './status.ts';
import { texts } from './texts.ts';

/** One sentence about the model and what to expect of it. */
export function introduction(model: string, parameters: number | null | undefined): string {
  const { introduction: words } = texts;
  if (model === '') return words.none;
  if (model === embeddedModel) return words.embedded;
  // Models on other servers do not tell their size.
  if (!parameters) return words.plain(model);
  const billions = parameters / 1e9;
  const expectation = billions < 1 ? words.small : billions < 5 ? words.medium : words.large;
  return words.sized(model, parametersText(parameters), expectation);
}
