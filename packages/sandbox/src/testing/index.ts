// What tests of other packages use of the embedded servers before there is a wire.
export { createObjectServer } from '../embedded/apiserver/objects.ts';
export { type Conversation, type Line, play, type Speaker, type Spoken } from './conversations/conversation-player.ts';
export { embeddedSpeaker, wireSpeaker } from './conversations/conversation-speakers.ts';
export { CONVERSATIONS } from './conversations/conversation-table.ts';
export { recordedAnswers } from './conversations/recorded-answers.ts';
export { startWebhookDouble, type WebhookDouble } from './conversations/webhook-double.ts';
