import { callByTemplate, callByTwoSteps, noCallByTwoSteps, scripted, toolTemplateFlags } from '../load/scripted.ts';
import { fakeEngineCommand } from '../load/servers.ts';
import { liveClients } from './live-clients.ts';
import { weatherQuestion } from './questions.ts';

/** What the model says of `weatherReport`. */
export const weatherAnswer = 'It is sunny in Paris, at 21 degrees.';

/** A chosen adapter is used for tools too. */
export const twoStepFlags = ['--chatcompletionsadapter', 'ChatML'] as const;

/** Calls by our own two steps, and calls in the words of the model's template, sent at once or streamed. */
export const toolWays = [
  { kind: 'by two steps', flags: twoStepFlags, call: callByTwoSteps, words: noCallByTwoSteps },
  { kind: 'by the template', flags: [], call: callByTemplate, words: [] },
  { kind: 'by the template, streamed', flags: ['--jinjatools'], call: callByTemplate, words: [] },
] as const;

/**
 * A server whose model calls the tool for the weather in Paris at `ask()`, and says `weatherAnswer` when it has the result. Whether a
 * real model calls a tool is its own decision, on which no test depends.
 */
export function scriptedTools({ flags, call, words }: (typeof toolWays)[number]) {
  const live = liveClients([...flags, ...toolTemplateFlags()], { command: fakeEngineCommand });
  const replies = [...call('get_weather', { city: 'Paris' }), ...words, weatherAnswer];
  return { live, ask: () => scripted(weatherQuestion, ...replies) };
}
