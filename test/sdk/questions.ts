import { saying } from '../live/client.ts';

/** A question, an answer, and the fields that make the model give it. */
export const greeting = 'Hello! What is your name?';
export const introduction = "I'm Parley Mini, the small built-in model of Parley.";
export const introducing = saying(introduction);

/** What the embedded model writes after it at temperature 0, on any processor: test/live/scoring.test.ts measures by how much. */
export const opening = 'Once upon a time';
export const knownContinuation = ', there was a little girl named Lily. She loved to';
export const knownTokens = 12;

export const weatherQuestion = 'What is the weather in Paris?';
export const weatherReport = '{"temperature": 21, "sky": "sunny"}';
export const offTopic = 'Tell me a joke.';

/** Short enough that a call with it always comes to its end. */
const city = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const, description: 'the city', maxLength: 20 } },
  required: ['city' as const],
};

export const weather = { name: 'get_weather', description: 'Get the current weather in a city', parameters: city };
/** All calls of it are the same. */
export const parisOnly = {
  ...weather,
  parameters: { type: 'object' as const, properties: { city: { enum: ['Paris'] } }, required: ['city' as const] },
};
export const clock = { name: 'get_time', description: 'Get the current time in a city', parameters: city };

export const personQuestion = 'Give me a person with name and age as JSON.';
export const personSchema = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 20 }, age: { type: 'integer', minimum: 0, maximum: 150 } },
  required: ['name', 'age'],
  additionalProperties: false,
};

/** Far more tokens than any test waits for. */
export const longStory = 'Tell me a long story about a dog.';
export const longStoryTokens = 1600;

/** About one token for each word. */
export const words = (count: number): string => 'word '.repeat(count).trimEnd();
