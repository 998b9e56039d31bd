// The calls of Vercel's AI SDK with the default provider, which asks for /responses; prints its answers as JSON.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const openai = createOpenAI({ baseURL: process.env.API_URL, apiKey: process.env.API_KEY });
// Without store: false the SDK sends references to earlier answers, and nothing is stored here.
const asked = {
  model: openai(process.env.MODEL),
  maxRetries: 0,
  maxOutputTokens: 40,
  providerOptions: { openai: { store: false } },
};
const weather = tool({
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});
const withTool = { ...asked, prompt: 'Call weather {"city": "Rome"}', tools: { weather }, stopWhen: stepCountIs(3) };

const first = await generateText({ ...asked, prompt: "What is a list?" });
const turns = [{ role: "user", content: "What is a list?" }, ...first.response.messages];
const second = await generateText({ ...asked, messages: [...turns, { role: "user", content: "And a tuple?" }] });

const streamed = streamText({ ...asked, prompt: "What is a list?" });
const pieces = [];
for await (const piece of streamed.textStream) pieces.push(piece);

const looped = await generateText(withTool);
const streamedLoop = streamText(withTool);
await streamedLoop.consumeStream();

const form = Output.object({ schema: z.object({ city: z.string(), days: z.int() }) });
const structured = await generateText({ ...asked, prompt: "Where?", output: form });

console.log(
  JSON.stringify({
    whole: first.text,
    second: second.text,
    pieces,
    usage: await streamed.usage,
    loops: [looped.text, await streamedLoop.text],
    structured: structured.output,
  }),
);
