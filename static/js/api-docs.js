// Shows the API's description. Nothing is sent from here: people decide on their own
// pages, and keys are not for pasting into browsers.

const place = document.getElementById("api");
const nothing = () => () => null;

SwaggerUIBundle({
  domNode: place,
  url: place.dataset.schema,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  supportedSubmitMethods: [],
  validatorUrl: "none",
  plugins: [{ wrapComponents: { authorizeBtn: nothing, authorizeOperationBtn: nothing } }],
});
